"""What a control would do, before it is set: who would get it, and how well the lift is known."""

from __future__ import annotations

import httpx
import pytest

from tests.server.calls import Api, code_of
from tests.server.running import RunningServer


def test_a_control_is_planned_with_what_the_study_knows() -> None:
    with RunningServer() as server, httpx.Client(base_url=server.url) as http:
        api = Api(http, "planned", reward_range=[0.0, 10.0])
        first = api.read("/plan", share=0.1)
        assert (first["chance"], first["requests"]) == (pytest.approx(0.1), [1000, 5000, 20000])
        assert first["half_widths"] == sorted(first["half_widths"], reverse=True)
        assert 0.5 < first["half_widths"][1] < 1.1, "in the units of the reward"
        assert first["text"].startswith("10 % of the requests get the control, 90 % are tuned.")
        careful = api.read("/plan", share=0.1, exposure=0.1)
        assert careful["chance"] == pytest.approx(0.91)
        rewards = [{"pull": pull["id"], "reward": 0.5} for pull in api.ask(count=40)]
        http.post("/v1/rewards", json={"rewards": rewards}).raise_for_status()
        rare = api.read("/plan", share=0.1)
        assert rare["half_widths"][2] < first["half_widths"][2], "rare successes vary less"
        nobody = api.read("/plan", share=0.1, exposure=0.0)
        assert (nobody["half_widths"], nobody["chance"]) == (None, 1.0)
        assert "nothing is compared" in nobody["text"]
        without = Api(http, "without-ends", reward_range=None).read("/plan")
        assert without["half_widths"] is None
        assert code_of(http.get(f"{api.path}/plan", params={"share": 1}), 422) == "invalid_request"
