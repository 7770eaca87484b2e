"""Clients of the service: the methods of ``Study`` over HTTP, blocking and with asyncio."""

from imabo.client.answers import Imported, RemoteFacts
from imabo.client.client import AsyncClient, Client
from imabo.client.study import AsyncRemoteStudy, RemoteStudy

__all__ = ["AsyncClient", "AsyncRemoteStudy", "Client", "Imported", "RemoteFacts", "RemoteStudy"]
