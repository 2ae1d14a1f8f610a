/**
 * A fast endpoint for webhooks, as a process of its own: it answers every post
 * with 204, and `GET /` with the count of posts and when each event came first.
 * It prints its URL once it listens.
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
  request.resume().once("end", () => response.writeHead(204).end())
})

server.on("connection", () => connections++)
server.keepAliveTimeout = 30_000
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  console.log(`http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`)
})
