"""A small client of the Messaging CRM API for Python 3.11 or newer, without dependencies. README.md describes it."""

from __future__ import annotations

import base64
import email.utils
import hmac
import http.client
import itertools
import json
import random
import re
import time
import uuid
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence, TypedDict, Unpack
from urllib import parse, request

__version__ = "1.0.0"

Body = Mapping[str, Any]
_REPEATABLE = (408, 429, 500, 502, 503, 504)


class Options(TypedDict, total=False):
    """Options of one call. `if_match` is the `etag` of the contact as you read it."""
    idempotency_key: str
    if_match: str
    max_retries: float
    timeout: float


class LastResponse(NamedTuple):
    """The response without its body."""
    status: int
    request_id: str
    is_replayed: bool
    etag: str | None
    headers: Mapping[str, str]


class Data(dict[str, Any]):
    """The data of a response, as a dictionary with its response in `last_response`."""
    def __init__(self, data: Body, last_response: LastResponse):
        super().__init__(data)
        self.last_response = last_response


class MessagingCrmError(Exception):
    """The service rejected the request, or failed. A response from elsewhere has the code `unexpected_response`."""
    def __init__(self, code: str, message: str, param: str | None, response: LastResponse):
        super().__init__(message)
        self.code, self.message, self.param = code, message, param
        self.status, self.request_id, self.last_response = response.status, response.request_id, response
        self.retry_after = _retry_after(response.headers.get("retry-after", ""))


class NoResponseError(Exception):
    """No response arrived. A write can have taken effect. Repeating it with the same idempotency key is safe."""
    def __init__(self, message: str, request_id: str):
        super().__init__(message)
        self.request_id = request_id


class WebhookVerificationError(Exception):
    """The request has no valid signature, or was signed too long ago: `reason` is that of the TypeScript client."""
    def __init__(self, reason: str, message: str):
        super().__init__(message)
        self.reason = reason


class Pages:
    """A list. Each iteration requests its pages when it needs them, from the first one."""
    def __init__(self, read: Callable[[Body], Data]):
        self._read = read

    def page(self) -> Data:
        """Reads one page: `data` and `next_cursor`."""
        return self._read({})

    def pages(self) -> Iterator[Data]:
        yield (page := self.page())
        while page.get("next_cursor") is not None:
            yield (page := self._read({"cursor": page["next_cursor"]}))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (item for page in self.pages() for item in page["data"])


class FollowedEvents:
    """Events in the order of commits, without an end. `cursor` continues after the last page that was processed."""
    def __init__(self, read: Callable[[Body], Data], after: str, pause: Callable[[], None]):
        self._read, self.cursor, self._pause = read, after, pause

    def pages(self) -> Iterator[Data]:
        """Reads page by page, also empty pages, to store the events of a page and its `next_cursor` together."""
        while True:
            # A repeated request after `now` would skip events, so it gets its cursor at once.
            started, wait = time.monotonic(), 0 if self.cursor == "now" else 30
            page = self._read({"after": self.cursor, "wait": wait})
            yield page
            self.cursor = page["next_cursor"]
            # A process that stops does not wait.
            if not page["data"] and wait and time.monotonic() - started < 1:
                self._pause()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (event for page in self.pages() for event in page["data"])


class _AllResponses(request.HTTPErrorProcessor):
    # A redirect would turn a write into a read, and send the API key to another address.
    def http_response(self, _: Any, response: Any) -> Any:
        return response

    https_response = http_response


def _parse(text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _retry_after(value: str) -> float | None:
    if re.fullmatch("[0-9]{1,9}", value):
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def _pause_after(error: MessagingCrmError | NoResponseError, attempts: int) -> float | None:
    """Returns the seconds to wait after this number of attempts, or None for an error that must not be retried."""
    backoff = min(0.5 * 2 ** min(attempts - 1, 10), 8) * random.uniform(0.5, 1)
    if isinstance(error, NoResponseError):
        return backoff
    seconds = error.retry_after or 0
    is_passing = error.status in _REPEATABLE or (error.status == 409 and error.retry_after is not None)
    return seconds + backoff if is_passing and seconds <= 60 else None


class MessagingCrm:
    """A client of the API. `base_url` contains the version: `https://crm.example.com/v1`. `timeout` is in seconds."""
    def __init__(self, api_key: str, base_url: str, *, max_retries: int = 3, timeout: float = 30.0):
        if not re.fullmatch(r"[\x21-\x7e]+", api_key):
            raise ValueError("api_key must be an API key such as svc_live_…, without white space.")
        if not re.fullmatch(r"https?://[^/@?#\s]+(/[^?#\s]*)?", base_url):
            raise ValueError("base_url must be an http or https URL such as https://crm.example.com/v1, without query.")
        self._api_key, self._base_url = api_key, base_url.rstrip("/")
        self._max_retries, self._timeout = max_retries, timeout
        self._opener = request.build_opener(_AllResponses)
        self._sleep: Callable[[float], None] = time.sleep
        self.channels, self.contact_fields, self.contacts = Channels(self), ContactFields(self), Contacts(self)
        self.conversations, self.events, self.members = Conversations(self), Events(self), Members(self)
        self.messages, self.sends, self.tags = Messages(self), Sends(self), Tags(self)
        self.templates, self.webhooks = Templates(self), Webhooks(self)

    def request(
        self, operation: str, *, path: Mapping[str, str] = {}, query: Body = {}, body: Body | None = None,
        **options: Unpack[Options],
    ) -> Data:
        """Calls any operation, such as `GET /contacts/{contact_id}`, and returns the body of its response."""
        method, template = operation.split(" ")
        if any(path.get(name, "") == "" for name in re.findall(r"{(\w+)}", template)):
            raise ValueError(f"path must have a value for each parameter of {template}.")
        url = self._base_url + re.sub(r"{(\w+)}", lambda name: parse.quote(path[name[1]], safe=""), template)
        given = {name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items()}
        search = parse.urlencode({name: value for name, value in given.items() if value is not None})
        headers = {"authorization": f"Bearer {self._api_key}", "user-agent": f"messaging-crm-python/{__version__}"}
        headers |= {} if method == "GET" else {"idempotency-key": options.get("idempotency_key") or str(uuid.uuid4())}
        headers |= {"if-match": options["if_match"]} if options.get("if_match") else {}
        headers |= {} if body is None else {"content-type": "application/json"}
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        for attempts in itertools.count(1):
            sent = {**headers, "x-request-id": str(uuid.uuid4())}
            call = request.Request(url + (search and f"?{search}"), data, sent, method=method)
            try:
                return self._attempt(call, url, sent["x-request-id"], options.get("timeout", self._timeout))
            except (MessagingCrmError, NoResponseError) as error:
                pause = _pause_after(error, attempts)
                if pause is None or attempts > options.get("max_retries", self._max_retries):
                    raise
                self._sleep(pause)

    def _attempt(self, call: request.Request, url: str, request_id: str, timeout: float) -> Data:
        try:
            with self._opener.open(call, timeout=timeout) as response:
                status, headers, text = response.status, response.headers, response.read()
        except (OSError, http.client.HTTPException) as error:
            # The URL has no query here, because a query can contain personal data.
            raise NoResponseError(f"{call.get_method()} {url} did not respond.", request_id) from error
        request_id, is_replayed = headers.get("x-request-id", request_id), "idempotent-replayed" in headers
        last_response = LastResponse(status, request_id, is_replayed, headers.get("etag"), headers)
        body = _parse(text)
        if 200 <= status < 300 and isinstance(body.get("data"), (dict, list)):
            return Data(body, last_response)
        error = body.get("error") if status >= 400 else None
        if not isinstance(error, dict) or not isinstance(error.get("code"), str):
            message = f"The response (status {status}) is not from the Messaging CRM API. Check the base URL."
            error = {"code": "unexpected_response", "message": message}
        raise MessagingCrmError(error["code"], str(error.get("message")), error.get("param"), last_response)


class _Resource:
    def __init__(self, crm: MessagingCrm): self._crm = crm


def _path(operation: str, values: Sequence[Any], more: int) -> dict[str, Any]:
    names = re.findall(r"{(\w+)}", operation)
    if not len(names) <= len(values) <= len(names) + more:
        raise TypeError(f"{operation} has these positional arguments: {[*names, 'body'][:len(names) + more]}.")
    return dict(zip(names, values))


def _one(operation: str) -> Callable[..., Data]:
    """Returns a method with the path parameters of the operation, a body if it has one, and `Options` as keywords."""

    def call(self: _Resource, *values: Any, **options: Unpack[Options]) -> Data:
        path = _path(operation, values, more=1)
        response = self._crm.request(operation, path=path, body=[*values, None][len(path)], **options)
        return Data(response["data"], response.last_response)

    return call


def _all(operation: str) -> Callable[..., Pages]:
    """Returns a method with the path parameters of the operation, and its query as keywords."""

    def call(self: _Resource, *values: str, **query: Any) -> Pages:
        path = _path(operation, values, more=0)
        return Pages(lambda more: self._crm.request(operation, path=path, query={**query, **more}))

    return call


class Channels(_Resource): list = _all("GET /channels")
class ContactFields(_Resource): list = _all("GET /contact-fields")
class Members(_Resource): list = _all("GET /members")
class Tags(_Resource): list, create = _all("GET /tags"), _one("POST /tags")
class Templates(_Resource): list = _all("GET /templates")


class Contacts(_Resource):
    list, get = _all("GET /contacts"), _one("GET /contacts/{contact_id}")
    create, upsert = _one("POST /contacts"), _one("POST /contacts/upsert")
    update, add_note = _one("PATCH /contacts/{contact_id}"), _one("POST /contacts/{contact_id}/notes")


class Conversations(_Resource):
    list, get = _all("GET /conversations"), _one("GET /conversations/{conversation_id}")
    start, assign = _one("POST /conversations"), _one("PATCH /conversations/{conversation_id}/assignment")
    close = _one("POST /conversations/{conversation_id}/close")
    reopen = _one("POST /conversations/{conversation_id}/reopen")


class Events(_Resource):
    list, get = _all("GET /events"), _one("GET /events/{event_id}")

    def follow(self, *, after: str, **query: Any) -> FollowedEvents:
        """Follows events after a cursor, from `start`, or from `now`. A failed request is retried until one succeeds."""
        def read(more: Body) -> Data:
            return self._crm.request("GET /events", query={**query, **more}, timeout=60, max_retries=float("inf"))
        return FollowedEvents(read, after, lambda: self._crm._sleep(random.uniform(0.5, 1)))


class Messages(_Resource):
    list = _all("GET /conversations/{conversation_id}/messages")
    get = _one("GET /conversations/{conversation_id}/messages/{message_id}")
    send = _one("POST /conversations/{conversation_id}/messages")


class Sends(_Resource):
    list, get = _all("GET /sends"), _one("GET /sends/{send_id}")

    def wait_for(self, send_id: str, *, timeout: float = 120.0) -> Data:
        """Polls a send until it is `sent` or `failed`. Raises `TimeoutError` after `timeout` seconds."""
        until, pause = time.monotonic() + timeout, 0.25
        while (send := self.get(send_id))["status"] not in ("sent", "failed"):
            if time.monotonic() >= until:
                raise TimeoutError(f"The send is still {send['status']}.")
            self._crm._sleep(pause * random.uniform(0.5, 1))
            pause = min(pause * 2, 5)
        return send


class Webhooks(_Resource):
    list, get = _all("GET /webhooks"), _one("GET /webhooks/{webhook_id}")
    create, update = _one("POST /webhooks"), _one("PATCH /webhooks/{webhook_id}")
    rotate_secret, disable = _one("POST /webhooks/{webhook_id}/rotate_secret"), _one("DELETE /webhooks/{webhook_id}")
    test, replay = _one("POST /webhooks/{webhook_id}/test"), _one("POST /webhooks/{webhook_id}/replay")
    deliveries = _all("GET /webhooks/{webhook_id}/deliveries")
    retry = _one("POST /webhooks/{webhook_id}/deliveries/{delivery_id}/retry")


def verify_webhook(
    payload: bytes, headers: Mapping[str, str], secret: str | Sequence[str], *, tolerance: int = 300
) -> dict[str, Any]:
    """Verifies a webhook request by its raw body, and returns the event. One valid signature suffices."""
    values = {name.lower(): value for name, value in headers.items()}
    for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
        if not values.get(name):
            raise WebhookVerificationError("missing_header", f"The request has no {name} header.")
    timestamp = values["webhook-timestamp"]
    if not re.fullmatch("[0-9]{1,15}", timestamp):
        raise WebhookVerificationError("malformed_timestamp", "webhook-timestamp is not a number of seconds.")
    if abs(age := int(time.time()) - int(timestamp)) > tolerance:
        reason = "too_new" if age < 0 else "too_old"
        raise WebhookVerificationError(reason, f"The request was not signed within {tolerance} seconds of now.")
    signed = f"{values['webhook-id']}.{timestamp}.".encode("latin-1", "replace") + payload
    given = [each.encode("latin-1", "replace") for each in values["webhook-signature"].split(" ")]
    verdicts = []
    for each in [secret] if isinstance(secret, str) else secret:
        try:
            key = base64.b64decode(each.removeprefix("whsec_"), validate=True)
        except ValueError:
            key = b""
        if not key:
            raise WebhookVerificationError("wrong_secret_format", "The secret must be `whsec_` followed by base64.")
        expected = b"v1," + base64.b64encode(hmac.digest(key, signed, "sha256"))
        verdicts += [hmac.compare_digest(expected, signature) for signature in given]
    if not any(verdicts):
        raise WebhookVerificationError("wrong_signature", "No signature is valid. Verify the raw, unparsed body.")
    event = _parse(payload)
    if not event:
        raise WebhookVerificationError("not_json", "The signed body is not a JSON object.")
    return event
