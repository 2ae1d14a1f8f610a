/**
 * A fast webhook endpoint in a separate process. It responds to every post with
 * 204, and to `GET /` with the number of posts and the time of each event's first
 * post. A path below `/slow` gets a 200 response after 14 seconds, one below `/hanging` none. It prints its URL when it
 * listens.
 */
import { createServer } from "node:http"

const first = new Map<string, number>()
let posts = 0
let connections = 0

const server = createServer((request, response) => {
  if (request.method === "GET") {
    return response.end(JSON.stringify({ posts, connections, first: Array.from(first) }))
  }
  const id = `${request.url} ${String(request.headers["webhook-id"])}`
  if (!first.has(id)) first.set(id, Date.now())
  posts++
  const { url = "" } = request
  request.resume().once("end", () => {
    if (url.startsWith("/hanging")) return
    if (url.startsWith("/slow")) setTimeout(() => response.writeHead(200).end(), 14_000)
    else response.writeHead(204).end()
  })
})

server.on("connection", () => connections++)
server.keepAliveTimeout = 30_000
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  console.log(`http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`)
})
