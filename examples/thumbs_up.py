# thumbs_up.py
from uuid import uuid4

from fastapi import FastAPI, HTTPException

from imabo import Choice, Client, Float, Space, errors, tuned

client = Client("http://127.0.0.1:8766", outbox="thumbs.outbox")
space = Space(model=Choice("small", "large"), temperature=Float(0.0, 1.0))
study = client.create("thumbs-up", space, window_s=3600.0, if_changed="update")
today = {"model": "small", "temperature": 0.2}  # served when imabo is away
app = FastAPI()


@tuned(study, default=today, deadline_s=0.5, key=lambda question, request_id: request_id)
async def answer(question: str, request_id: str, *, model: str, temperature: float) -> str:
    return f"The {model} model, at {temperature:.2f}, says: it depends."  # ask your LLM here


@app.post("/answers")
async def ask(question: str) -> dict[str, str]:
    request_id = str(uuid4())
    return {"id": request_id, "text": await answer(question, request_id)}


@app.put("/answers/{request_id}/thumb", status_code=204)
def rate(request_id: str, up: bool) -> None:
    try:
        study.tell(key=request_id, reward=up)
    except errors.UnknownKey as error:
        raise HTTPException(404, "no such answer") from error
    except errors.RewardConflict as error:
        raise HTTPException(409, "rated otherwise before") from error
