/** The introduction of the OpenAPI document, in Markdown. */
import { limits } from "@messaging-crm/core/Limits"
import { body_max } from "../ErrorTexts.ts"

export const overview = `
Messaging CRM manages one organization's customer messaging: contacts, conversations, messages, and webhooks.

## Keys

Send an organization's API key with every request: \`Authorization: Bearer svc_live_…\`. A key acts for the member for whom
it was created. Each operation requires exactly one scope, listed as \`x-required-scope\`. Use keys on servers only.

## Writes

Send an \`Idempotency-Key\` of your choice with every write. For at least 24 hours, a retry with the same key and the same
body returns the original response, byte for byte. The same key with a different request fails with
\`idempotency_conflict\`, and an unknown field fails with \`invalid_input\`.

To change a contact only as you read it, send its \`ETag\` as \`If-Match\`. If it has changed, the response is 412
\`precondition_failed\`.

## Sends

Messages are sent asynchronously: the response is 202 with a send. Poll its status with \`getSend\`, or subscribe to events
with a webhook.

## Lists

A list returns \`{"data": […], "next_cursor": …}\`. To get the next page, pass \`next_cursor\` as \`cursor\` with the same
filters, until \`next_cursor\` is null. A page can have fewer items than \`page_size\`, or none.

## Times

Responses have times in UTC with milliseconds: \`2026-11-20T10:00:00.000Z\`. Requests accept RFC 3339 with any offset. In a
query, encode \`+\` as \`%2B\`.

## Errors

Every error has the form \`{"error": {"code", "message", "param", "request_id"}}\`. Use \`code\` in programs; \`message\` is
for people. \`param\` identifies the invalid field or parameter, if there is one, and \`request_id\` equals \`X-Request-Id\`.
After a 500, retry a read, or a write with the same \`Idempotency-Key\`. Before you retry a write
without an \`Idempotency-Key\`, read the resource.

A known path with an unsupported method returns 405 \`method_not_allowed\` and lists the supported methods in \`Allow\`. An
unknown path returns 404 \`not_found\`. Invalid HTTP returns 400 \`invalid_input\`, a slow request 408 \`request_timeout\`, an
unsupported \`Expect\` header 417 \`expectation_failed\`, and more than 16,384 bytes or 100 lines of headers 431 \`headers_too_large\`. A
process with too many requests in progress returns 503 \`overloaded\` with \`Retry-After\`. While an operator moves an organization to
another database, and until a new process has reached its database, its requests can return 503 \`organization_closed\` with
\`Retry-After\`, and have changed nothing.

## Limits

A key can make ${limits.requests_per_minute} requests per minute, unless the operator has set another rate. The \`X-RateLimit-…\` headers of every
response show the limit. A key can have ${limits.requests_at_once} requests in progress per process; further requests wait for a slot. A body can
have at most ${body_max}.

## Guides and client

The folder \`docs\` of the repository has a guide for each task and the contract with every rule. The package
\`@messaging-crm/client\` is a typed client for TypeScript and JavaScript.

## Versions

The version is part of the path. Within a version, the API can gain operations, optional request fields, response fields,
and values of open enumerations. A change that breaks clients gets a new version.
`.trim()
