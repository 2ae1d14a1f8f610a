/** The introduction of the OpenAPI document, in Markdown. */
export const overview = `
One organization's customer messaging: contacts, conversations, messages, catalogs and webhooks.

## Keys

Every request carries an organization's API key: \`Authorization: Bearer svc_live_…\`. A key acts for the member for whom
it was created. Each operation requires exactly one scope, given in \`x-required-scope\`. Use keys on servers only.

## Writes

A write carries an \`Idempotency-Key\` of your choice. A retry with the same key and the same body gets the first answer,
byte for byte, for at least 24 hours. The same key with another request is refused with \`idempotency_conflict\`, and an
unknown field with \`invalid_input\`.

## Sends

Messages are sent asynchronously: the answer is 202 with a send. Read its status with \`getSend\`, or subscribe to events
with a webhook.

## Lists

A list answers \`{"data": […], "next_cursor": …}\`. Pass \`next_cursor\` as \`cursor\`, with the same filters, to get the next
page, until \`next_cursor\` is null. A page may hold fewer items than \`page_size\`.

## Errors

Every error has the shape \`{"error": {"code", "message", "param", "request_id"}}\`. \`code\` is for programs, \`message\` for
people, \`param\` is the field or parameter at fault where it is known, and \`request_id\` equals \`X-Request-Id\`.
After a 500, repeat a read, and repeat a write with the same \`Idempotency-Key\`. Before you repeat a write that had no key,
read the resource.

A path that exists answers 405 \`method_not_allowed\` to a method that is not listed with it, with the others in \`Allow\`;
any other path answers 404 \`not_found\`. What is not valid HTTP, comes too slowly or has more than 16,384 bytes of headers
is answered with 400 \`invalid_input\`, 408 \`request_timeout\`, 417 \`expectation_failed\` or 431 \`headers_too_large\`. A
process with too many requests in progress answers 503 \`overloaded\` with \`Retry-After\`.

## Limits

120 requests a minute for each key, unless the operator has set another rate; the \`X-RateLimit-…\` headers of every
response show it. A process carries out 32 requests of a key at once; further requests wait for their turn. 64 KiB for
a body.

## Versions

The version is in the path. Within a version, new operations, optional request fields, response fields and values of open
enumerations may appear. A change that breaks clients gets a new version.
`.trim()
