/** The head of an HTTP/1.1 response. */

/** Reads the head of a response once it is complete. `length` is that of the whole response. */
export const headOf = (response: Buffer) => {
  const end = response.indexOf("\r\n\r\n")
  if (end < 0) return undefined
  const text = response.toString("latin1", 0, end)
  const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1]
  if (length === undefined) throw new Error(`There is no Content-Length in ${text}`)
  return {
    length: end + 4 + Number(length),
    isSuccess: text.startsWith("HTTP/1.1 2"),
    isLast: /\r\nconnection: close/i.test(text)
  }
}
