/** What an integrator reads first, in Markdown. */
export const overview = `
One organization's customer messaging: contacts, conversations, messages, catalogs and webhooks.

## Keys

Every request carries an organization's API key: \`Authorization: Bearer svc_live_…\`. A key acts for the member who made
it, and each operation needs exactly one scope, named in \`x-required-scope\`. Use keys from servers only.

## Writes

A write carries an \`Idempotency-Key\`, a name of your own for what you want to be done. A retry with the same key and the
same body gets the first answer, byte for byte, for at least 24 hours; the same key with another request is refused.
An unknown field is refused with \`invalid_input\`.

## Sends

Messages are sent asynchronously: the answer is 202 and a send, which is followed with \`getSend\` or by webhooks.

## Lists

A list answers \`{"data": […], "next_cursor": …}\`. Ask again with \`cursor\` and the same filters until \`next_cursor\` is
null. A page may hold fewer items than \`page_size\`.

## Errors

Every error has the shape \`{"error": {"code", "message", "param", "request_id"}}\`. \`code\` is for programs, \`message\` for
people, \`param\` names the field or parameter at fault where it is known, and \`request_id\` equals \`X-Request-Id\`.
Repeat a read after a 500; before repeating a write, read the resource, or repeat it with the same key.

A path that exists answers 405 \`method_not_allowed\` to a method that is not listed with it, with the others in \`Allow\`;
any other path answers 404 \`not_found\`. What is not valid HTTP, comes too slowly or has more than 16,384 bytes of headers
is answered with 400 \`invalid_input\`, 408 \`request_timeout\`, 417 \`expectation_failed\` or 431 \`headers_too_large\`.

## Limits

120 requests a minute for each key, unless the operator has set another rate, told in the \`X-RateLimit-…\` headers;
8 requests of a key are carried out at once, more wait for a second and are then answered with 429 \`rate_limited\` and
\`Retry-After: 1\`; 64 KiB for a body.

## Versions

The version is in the path. New operations, optional fields, fields of answers and values of open enums may appear in it;
anything that breaks a client comes in a new version only.
`.trim()
