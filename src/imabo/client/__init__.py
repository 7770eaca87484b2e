"""Clients of the service: the methods of ``Study`` over HTTP, blocking and with asyncio."""

from imabo.client.answers import Imported, RemoteFacts
from imabo.client.async_client import AsyncClient
from imabo.client.async_study import AsyncRemoteStudy
from imabo.client.client import Client
from imabo.client.study import RemoteStudy

__all__ = ["AsyncClient", "AsyncRemoteStudy", "Client", "Imported", "RemoteFacts", "RemoteStudy"]
