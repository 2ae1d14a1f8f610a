/** The page of a member who has logged in: the token of its writes, and its login after the session has ended. */
import { assert, it } from "@effect/vitest"
import { beforeEach, vi } from "vitest"
import { installBrowser } from "./Browser.ts"

const requests: Array<readonly [path: string, token: unknown]> = []
const addresses: Array<string> = []
const streams: Array<EventSource> = []
let status = 200

class EventSource {
  static readonly CLOSED = 2
  readyState = 1
  private readonly listeners = new Map<string, () => void>()

  constructor() {
    streams.push(this)
  }

  addEventListener(name: string, listener: () => void) {
    this.listeners.set(name, listener)
  }

  fail(readyState: number) {
    this.readyState = readyState
    this.listeners.get("error")?.()
  }
}

vi.useFakeTimers()
installBrowser({
  EventSource,
  document: {
    body: { dataset: { path: "/console", development: "false", token: "a-token", visitor: "Ada" } },
    hidden: false
  },
  location: { hash: "#/inbox/c1", assign: (address: string) => void addresses.push(address) },
  fetch: async (path: string, { headers }: { readonly headers: Readonly<Record<string, string>> }) => {
    requests.push([path, headers["x-csrf-token"]])
    if (status === 204) return new Response(null, { status })
    if (path === "/console/logout" && status === 200) return Response.json({ location: "https://login.example/out" })
    return Response.json(status === 200 ? { data: [], next_cursor: null } : { error: { message: "Ended." } }, {
      status
    })
  }
})

const { callOperation, context, logOut } = await import("../../page/server.mjs")
const { connectToStream } = await import("../../page/stream.mjs")
const { state } = await import("../../page/store.mjs")

beforeEach(() => {
  for (const list of [requests, addresses, streams]) list.splice(0)
  status = 200
})

it("sends its token with each operation", async () => {
  assert.strictEqual(context.visitor, "Ada")
  await callOperation("setup")
  assert.deepStrictEqual(requests, [["/console/call/setup", "a-token"]])
})

it("logs out, at the address that the server names, and also if the session has ended already", async () => {
  for (const each of [200, 204, 401]) {
    status = each
    await logOut()
  }
  assert.deepStrictEqual(addresses, ["https://login.example/out", "/console/logged-out", "/console/logged-out"])
  assert.deepStrictEqual(requests[0], ["/console/logout", "a-token"])
  status = 503
  assert.include(await logOut().then(() => "done", (error) => error.message), "503")
})

it("connects again after a rejected stream, and opens the login once if the session has ended", async () => {
  connectToStream()
  streams[0]?.fail(0)
  await vi.advanceTimersByTimeAsync(10_000)
  // The browser connects again by itself.
  assert.deepStrictEqual([streams.length, requests.length, state.isLive], [1, 0, false])
  status = 401
  streams[0]?.fail(EventSource.CLOSED)
  await vi.advanceTimersByTimeAsync(5000)
  assert.strictEqual(streams.length, 2)
  const login = ["/console/login?to=%2Fconsole%23%2Finbox%2Fc1"]
  assert.deepStrictEqual(addresses, login)
  // A later operation shows its error.
  const outcome = await callOperation("setup").then(() => "done", (error) => error.message)
  assert.deepStrictEqual([outcome, addresses], ["Ended.", login])
})
