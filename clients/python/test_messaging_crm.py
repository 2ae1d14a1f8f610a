"""Tests of the client against a running service: BASE_URL and API_KEY, as `npm start` writes them to `.data/env`."""

import http.server
import itertools
import json
import os
import pathlib
import re
import threading
import time
import unittest
import uuid
from urllib.parse import urlsplit

import messaging_crm
from messaging_crm import MessagingCrm, MessagingCrmError, NoResponseError, WebhookVerificationError, verify_webhook

API_KEY, BASE_URL = os.environ["API_KEY"], os.environ["BASE_URL"]
DOCUMENT = json.loads((pathlib.Path(__file__).parents[2] / "packages/adapter-http/openapi.json").read_text())
SERVICE = urlsplit(BASE_URL)


class Proxy:
    """A server that forwards requests to the service, after the faults of a script, one for each request."""

    def __init__(self, *script, port=0):
        proxy = self
        self.requests, self.script = [], list(script)

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                proxy.requests.append((self.command, self.path, dict(self.headers), body))
                fault = proxy.script.pop(0) if proxy.script else None
                if isinstance(fault, tuple):
                    return self.respond(*fault)
                connection = http.client.HTTPConnection(SERVICE.hostname, SERVICE.port)
                connection.request(self.command, self.path, body, dict(self.headers))
                response = connection.getresponse()
                status, headers, text = response.status, response.getheaders(), response.read()
                connection.close()
                if fault == "lose the response":
                    return self.connection.close()
                self.respond(status, headers, text)

            def respond(self, status, headers, text):
                self.send_response(status)
                for name, value in headers:
                    if name.lower() not in ("transfer-encoding", "content-length", "connection", "date"):
                        self.send_header(name, value)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PATCH = do_DELETE = handle_any

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.base_url = f"http://127.0.0.1:{self.server.server_port}{SERVICE.path}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def rejection(status, code, **headers):
    body = {"error": {"code": code, "message": "No.", "param": None, "request_id": "r1"}}
    pairs = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return status, [("content-type", "application/json"), *pairs], json.dumps(body).encode()


def connect(base_url=BASE_URL, **options):
    """Returns a client that records its pauses instead of waiting."""
    crm, pauses = MessagingCrm(API_KEY, base_url, **options), []
    crm._sleep = pauses.append
    return crm, pauses


class Operations(unittest.TestCase):
    def test_a_contact_is_created_read_changed_and_found(self):
        crm, _ = connect()
        kim = crm.contacts.create({"first_name": "Kim ß", "primary_email": f"{uuid.uuid4()}@example.com"})
        self.assertEqual(kim.last_response.status, 201)
        read = crm.contacts.get(kim["id"])
        self.assertEqual(read["first_name"], "Kim ß")
        crm.contacts.update(kim["id"], {"last_name": "Doe"}, if_match=read.last_response.etag)
        with self.assertRaises(MessagingCrmError) as caught:
            crm.contacts.update(kim["id"], {"last_name": "Roe"}, if_match=read.last_response.etag)
        self.assertEqual((caught.exception.status, caught.exception.code), (412, "precondition_failed"))
        found = list(crm.contacts.list(email=kim["primary_email"]))
        self.assertEqual([(each["id"], each["last_name"]) for each in found], [(kim["id"], "Doe")])

    def test_a_list_reads_every_page(self):
        crm, _ = connect()
        tag = crm.tags.create({"name": f"Pages {str(uuid.uuid4())[:8]}", "color": "amber"})
        made = [crm.contacts.create({"first_name": f"P{n}", "tag_ids": [tag["id"]]})["id"] for n in range(5)]
        pages = list(crm.contacts.list(tag_id=tag["id"], page_size=2).pages())
        self.assertEqual([len(page["data"]) for page in pages], [2, 2, 1])
        self.assertCountEqual([each["id"] for each in crm.contacts.list(tag_id=tag["id"], page_size=2)], made)

    def test_a_send_is_awaited(self):
        crm = MessagingCrm(API_KEY, BASE_URL)
        channel = next(each for each in crm.channels.list() if each["type"] == "phone_messaging")
        values = {"first_name": "Kim", "day": "Monday", "time": "10:00"}
        texts = [{"type": "text", "parameter_name": name, "text": text} for name, text in values.items()]
        send = crm.conversations.start({
            "channel_id": channel["id"], "phone": "+4915112345678",
            "template": {"id": "demo.appointment_reminder", "components": [{"type": "body", "parameters": texts}]},
        })
        self.assertEqual(crm.sends.wait_for(send["id"])["status"], "sent")

    def test_every_operation_of_the_document_has_a_method(self):
        # Every method sends one request, which this server rejects.
        with Proxy(*[rejection(400, "invalid_parameter")] * 100) as proxy:
            crm, _ = connect(proxy.base_url, max_retries=0)
            for name in [name for name in vars(crm) if not name.startswith("_")]:
                resource = getattr(crm, name)
                for call in [call for call in dir(resource) if not call.startswith("_") and call != "wait_for"]:
                    method = getattr(resource, call)
                    for ids in ([], ["1"], ["1", "2"]):
                        try:
                            result = method(*ids)
                            next(iter(result))
                        except (TypeError, ValueError):
                            continue
                        except MessagingCrmError:
                            break
        paths = [(method, path.removeprefix(SERVICE.path)) for method, path, *_ in proxy.requests]
        sent = {f"{method} {re.sub('/[12](?=/|$)', '/{}', path)}" for method, path in paths}
        operations = [(method, path) for path, methods in DOCUMENT["paths"].items() for method in methods]
        documented = {f"{method.upper()} {re.sub('{.*?}', '{}', path)}" for method, path in operations}
        self.assertEqual(sent, documented)


class Errors(unittest.TestCase):
    def test_an_error_has_its_code_message_parameter_and_request_id(self):
        crm, pauses = connect()
        with self.assertRaises(MessagingCrmError) as caught:
            crm.contacts.create({"primary_email": "kim@"})
        error = caught.exception
        self.assertEqual((error.status, error.param, pauses), (400, "primary_email", []))
        self.assertIn("primary_email", error.message)
        self.assertRegex(error.request_id, "^[0-9a-f-]{36}$")

    def test_a_response_that_is_not_from_the_api_is_unexpected(self):
        redirect = (302, [("location", BASE_URL)], b"")
        for response in [(200, [], b"<html>"), redirect, (200, [], b"{}"), (200, [], b'{"data":1}'), (404, [], b"[]")]:
            with Proxy(response) as proxy, self.assertRaises(MessagingCrmError) as caught:
                connect(proxy.base_url)[0].tags.list().page()
            self.assertEqual((caught.exception.code, len(proxy.requests)), ("unexpected_response", 1))

    def test_no_error_contains_the_key(self):
        with self.assertRaises(NoResponseError) as caught:
            connect("http://127.0.0.1:1/v1", max_retries=0)[0].contacts.list(query="Kim").page()
        self.assertNotIn(API_KEY, repr(caught.exception))
        self.assertNotIn("Kim", str(caught.exception))

    def test_settings_and_arguments_are_checked(self):
        urls = [(API_KEY, url) for url in ("ftp://x", "https://a@b/v1", "https://a/v1?x")]
        for key, url in [("a b", BASE_URL), ("", BASE_URL), *urls]:
            with self.assertRaises(ValueError):
                MessagingCrm(key, url)
        crm, _ = connect()
        for call in (lambda: crm.contacts.get(""), lambda: crm.request("GET /contacts/{contact_id}")):
            with self.assertRaises(ValueError):
                call()
        for call in (lambda: crm.contacts.get("1", {}, {}), lambda: crm.messages.list(), lambda: crm.messages.get("1")):
            with self.assertRaises(TypeError):
                call()
        for idempotency_key in ("a\nb", "a\r\nx: y"):
            with self.assertRaises(ValueError):
                crm.tags.create({"name": "x"}, idempotency_key=idempotency_key)


class Retries(unittest.TestCase):
    def test_a_write_whose_response_is_lost_has_one_effect(self):
        with Proxy("lose the response", rejection(503, "unavailable"), (502, [], b"<html>")) as proxy:
            crm, pauses = connect(proxy.base_url)
            email = f"{uuid.uuid4()}@example.com"
            kim = crm.contacts.create({"primary_email": email})
            self.assertTrue(kim.last_response.is_replayed)
            self.assertEqual([each["id"] for each in crm.contacts.list(email=email)], [kim["id"]])
        keys = {headers.get("Idempotency-Key") for method, _, headers, _ in proxy.requests if method == "POST"}
        self.assertEqual((len(keys), len(pauses)), (1, 3))
        self.assertRegex(keys.pop(), "^[0-9a-f-]{36}$")
        for pause, longest in zip(pauses, (0.5, 1, 2)):
            self.assertTrue(longest / 2 <= pause <= longest)

    def test_a_given_idempotency_key_replays_the_response(self):
        crm, _ = connect()
        key = str(uuid.uuid4())
        one, two = [crm.contacts.create({"first_name": "Kim"}, idempotency_key=key) for _ in range(2)]
        self.assertEqual((one, two.last_response.is_replayed), (two, True))

    def test_retry_after_is_added_to_the_backoff(self):
        late = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 30))
        with Proxy(*[rejection(429, "rate_limited", retry_after=value) for value in ("7", late)]) as proxy:
            crm, pauses = connect(proxy.base_url)
            crm.tags.list().page()
        self.assertTrue(7.25 <= pauses[0] <= 7.5)
        self.assertTrue(20 < pauses[1] <= 31)

    def test_no_retry_of_what_a_retry_cannot_correct(self):
        for fault in [
            rejection(429, "rate_limited", retry_after="61"), rejection(409, "conflict"), rejection(404, "not_found"),
        ]:
            with Proxy(fault) as proxy, self.assertRaises(MessagingCrmError):
                connect(proxy.base_url)[0].tags.list().page()
            self.assertEqual(len(proxy.requests), 1)

    def test_a_conflict_with_retry_after_is_retried(self):
        with Proxy(rejection(409, "request_processing", retry_after="1")) as proxy:
            connect(proxy.base_url)[0].tags.list().page()
        self.assertEqual(len(proxy.requests), 2)

    def test_the_last_error_is_raised_after_the_last_retry(self):
        with Proxy(*[rejection(500, "internal_error")] * 3) as proxy:
            crm, pauses = connect(proxy.base_url, max_retries=2)
            with self.assertRaises(MessagingCrmError):
                crm.tags.list().page()
        self.assertEqual((len(proxy.requests), len(pauses)), (3, 2))


class FollowedEvents(unittest.TestCase):
    def raised(self, crm, count):
        """Creates contacts, and returns their IDs."""
        return [crm.contacts.create({"first_name": f"F{n}"})["id"] for n in range(count)]

    def taken(self, events, count):
        return [event["data"]["contact_id"] for event in itertools.islice(events, count)]

    def test_events_are_followed_in_order_and_from_a_stored_cursor(self):
        crm, _ = connect()
        pages = crm.events.follow(after="now", type="contact.created").pages()
        cursor = next(pages)["next_cursor"]
        made = self.raised(crm, 5)
        events = crm.events.follow(after=cursor, type="contact.created", page_size=2)
        self.assertEqual(self.taken(events, 3), made[:3])
        # The loop has stopped within the second page, whose events the next one gets again.
        self.assertEqual(self.taken(crm.events.follow(after=events.cursor, type="contact.created"), 3), made[2:])
        event = next(iter(crm.events.follow(after=cursor, type="contact.created")))
        self.assertEqual(crm.events.get(event["id"]), event)

    def test_an_event_that_is_committed_while_the_loop_waits_is_followed(self):
        crm, _ = connect()
        cursor = next(crm.events.follow(after="now").pages())["next_cursor"]
        made = []
        with Proxy() as proxy:
            def commit():
                while not proxy.requests:
                    time.sleep(0.01)
                made.extend(self.raised(crm, 1))

            thread = threading.Thread(target=commit)
            thread.start()
            self.assertEqual(self.taken(connect(proxy.base_url)[0].events.follow(after=cursor), 1), made)
            thread.join()

    def test_a_loop_survives_restarts_and_failures_of_the_service(self):
        crm, _ = connect()
        cursor = next(crm.events.follow(after="now").pages())["next_cursor"]
        made = self.raised(crm, 3)
        faults = [rejection(503, "unavailable"), rejection(429, "rate_limited", retry_after="5"), "lose the response"]
        with Proxy() as stopped:
            port = stopped.server.server_port
        follower, pauses = connect(stopped.base_url)

        def pause(seconds):
            pauses.append(seconds)
            if len(pauses) == 5:
                self.enterContext(Proxy(*faults * 2, port=port))

        follower._sleep = pause
        self.assertEqual(self.taken(follower.events.follow(after=cursor, page_size=1), 3), made)
        self.assertGreaterEqual(len(pauses), 11)

    def test_an_error_that_a_retry_cannot_correct_ends_the_loop(self):
        with self.assertRaises(MessagingCrmError) as caught:
            next(iter(connect()[0].events.follow(after="yesterday")))
        self.assertEqual((caught.exception.code, caught.exception.param), ("invalid_input", "after"))


class Webhooks(unittest.TestCase):
    secret = "whsec_" + "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="

    def test_a_request_of_the_service_is_verified(self):
        received, arrived = [], threading.Event()

        class Receiver(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                received.append((self.rfile.read(int(self.headers["content-length"])), self.headers))
                self.send_response(204)
                self.end_headers()
                arrived.set()

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        crm, _ = connect()
        url = f"http://127.0.0.1:{server.server_port}/"
        webhook = crm.webhooks.create({"url": url, "event_types": ["message.received"]})
        crm.webhooks.test(webhook["id"])
        self.assertTrue(arrived.wait(30))
        server.shutdown()
        server.server_close()
        crm.webhooks.disable(webhook["id"])
        [(body, headers)] = received
        secret = webhook["signing_secret"]
        self.assertEqual(verify_webhook(body, headers, secret)["type"], "webhook.test")
        self.assertEqual(verify_webhook(body, headers, [self.secret, secret])["type"], "webhook.test")
        for payload, secrets in ((body + b" ", secret), (body, self.secret), (body, [])):
            self.assertEqual(self.reason(payload, headers, secrets), "wrong_signature")
        for other in ("whsec_%", ""):
            self.assertEqual(self.reason(body, headers, other), "wrong_secret_format")

    def reason(self, payload, headers, secret, **options):
        with self.assertRaises(WebhookVerificationError) as caught:
            verify_webhook(payload, headers, secret, **options)
        return caught.exception.reason

    def test_a_request_without_a_valid_signature_is_rejected(self):
        now = int(time.time())
        headers = {"webhook-id": "e1", "webhook-timestamp": str(now), "Webhook-Signature": "v1,AAAA v1a,x v1,ü \x00"}

        def reason_at(timestamp, **options):
            return self.reason(b"{}", {**headers, "webhook-timestamp": str(timestamp)}, self.secret, **options)

        reasons = [reason_at(now - 400), reason_at(now + 400), reason_at(now - 40, tolerance=20)]
        self.assertEqual(reasons, ["too_old", "too_new", "too_old"])
        for timestamp in ("now", f" {now}", f"+{now}", f"{now}.0", "٣"):
            self.assertEqual(reason_at(timestamp), "malformed_timestamp")
        for name in headers:
            self.assertEqual(self.reason(b"{}", {**headers, name: ""}, self.secret), "missing_header")
        self.assertEqual(self.reason(b"{}", headers, self.secret), "wrong_signature")

    def test_a_known_signature_is_accepted_only_with_a_json_object(self):
        # The signatures that the library of Standard Webhooks computes for these bodies.
        for body, signature, is_event in SIGNED:
            headers = {"webhook-id": "e1", "webhook-timestamp": "1750000000", "webhook-signature": signature}
            if is_event:
                self.assertEqual(verify_webhook(body, headers, self.secret, tolerance=10**10)["id"], "e1")
            else:
                self.assertEqual(self.reason(body, headers, self.secret, tolerance=10**10), "not_json")


SIGNED = [
    (b'{"id":"e1"}', "v1,qxpk89u1yRnKiYz63y0zl18X97/j3G3QAXpNJCFcpbU=", True),
    (b"[]", "v1,d9FzH95gb4Xi450Iwqr1AWQ4WsOUwo/1NUg2mNbvk2w=", False),
    (b"no", "v1,aNoUwCYpDo+j+o3aJjbylkc8KxWPyec0B5ZSVzdC4Gs=", False),
]


class Module(unittest.TestCase):
    def test_the_module_is_small_and_imports_the_standard_library_only(self):
        text = pathlib.Path(messaging_crm.__file__).read_text()
        self.assertLessEqual(len(text.splitlines()), 330)
        self.assertEqual(messaging_crm.__version__, DOCUMENT["info"]["version"])


if __name__ == "__main__":
    unittest.main()
