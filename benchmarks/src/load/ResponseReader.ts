/** Reads HTTP/1.1 responses from the chunks of a connection. */

/** A response. `length` is that of its head and body, and `is_last` says whether the server closes the connection after it. */
export interface ReadResponse {
  readonly length: number
  readonly is_success: boolean
  readonly is_last: boolean
}

/** Reads the head of a response once it is complete. */
const headOf = (response: Buffer): ReadResponse | null => {
  const end = response.indexOf("\r\n\r\n")
  if (end < 0) return null
  const text = response.toString("latin1", 0, end)
  const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1]
  if (length === undefined) throw new Error(`There is no Content-Length in ${text}`)
  return {
    length: end + 4 + Number(length),
    is_success: text.startsWith("HTTP/1.1 2"),
    is_last: /\r\nconnection: close/i.test(text)
  }
}

/** Makes a function that takes the next chunk of a connection, and returns the response if it is complete. */
export const makeResponseReader = () => {
  /** The received part of an incomplete response head. */
  let partialHead: Buffer | null = null
  /** The response whose body has not arrived completely. */
  let incomplete: ReadResponse | null = null
  let missing_bytes = 0
  return (chunk: Buffer): ReadResponse | null => {
    let arrived_bytes = chunk.length
    if (incomplete === null) {
      const received: Buffer = partialHead === null ? chunk : Buffer.concat([partialHead, chunk])
      const head = headOf(received)
      partialHead = head === null ? received : null
      if (head === null) return null
      incomplete = head
      missing_bytes = head.length
      arrived_bytes = received.length
    }
    missing_bytes -= arrived_bytes
    if (missing_bytes > 0) return null
    const response = incomplete
    incomplete = null
    return response
  }
}
