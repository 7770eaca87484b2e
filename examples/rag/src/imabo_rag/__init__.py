"""A question-answering assistant over passages, to be tuned while it answers."""

from imabo_rag.cache import Cache
from imabo_rag.endpoint import Endpoint, ModelFailed
from imabo_rag.pipeline import Answer, Pipeline
from imabo_rag.questions import (
    Passage,
    Question,
    QuestionSet,
    find_questions,
    load_hotpotqa,
    own_questions,
)
from imabo_rag.settings import EndpointSettings, read_settings
from imabo_rag.space import rag_space

__all__ = [
    "Answer",
    "Cache",
    "Endpoint",
    "EndpointSettings",
    "ModelFailed",
    "Passage",
    "Pipeline",
    "Question",
    "QuestionSet",
    "find_questions",
    "load_hotpotqa",
    "own_questions",
    "rag_space",
    "read_settings",
]
