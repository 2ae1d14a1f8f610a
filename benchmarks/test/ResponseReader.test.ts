import { assert, it } from "@effect/vitest"
import { makeResponseReader } from "../src/load/ResponseReader.ts"

const text = (status: number, body: string, headers = "") =>
  `HTTP/1.1 ${status} X\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`

const read = (chunks: ReadonlyArray<string>) => {
  const reader = makeResponseReader()
  return chunks.map((chunk) => reader(Buffer.from(chunk)))
}

it("a response is read once, at whichever byte its chunks are cut", () => {
  const whole = text(200, "{\"data\":1}")
  const response = { length: whole.length, is_success: true, is_last: false }
  assert.deepStrictEqual(read([whole]), [response])
  for (let cut = 1; cut < whole.length; cut++) {
    assert.deepStrictEqual(read([whole.slice(0, cut), whole.slice(cut)]), [null, response], `after ${cut} bytes`)
  }
  const bytes = [...whole]
  assert.deepStrictEqual(read(bytes), [...bytes.slice(1).map(() => null), response])
})

it("a connection returns its responses in order, with their success and its end", () => {
  const [first, second, third] = [text(204, ""), text(429, "busy"), text(200, "bye", "Connection: close\r\n")]
  assert.deepStrictEqual(read([first, second, third]), [
    { length: first.length, is_success: true, is_last: false },
    { length: second.length, is_success: false, is_last: false },
    { length: third.length, is_success: true, is_last: true }
  ])
})

it("a response without a length is rejected", () => {
  assert.throws(() => read(["HTTP/1.1 200 OK\r\n\r\n"]), "There is no Content-Length")
})
