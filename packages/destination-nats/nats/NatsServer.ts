/** A NATS server with JetStream: `NATS_SERVER`, else `/usr/sbin/nats-server`. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { connect, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"

const program = process.env["NATS_SERVER"] ?? "/usr/sbin/nats-server"

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  await once(server, "close")
  return typeof address === "object" && address !== null ? address.port : 0
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy()
      resolve(true)
    })
    socket.once("error", () => resolve(false))
  })

/** Prepares a server with a user, which keeps its data while it is stopped. */
export const natsServer = async () => {
  const folder = mkdtempSync(join(tmpdir(), "messaging-crm-nats-"))
  const port = await freePort()
  const args = ["-a", "127.0.0.1", "-p", String(port), "-js", "-sd", folder, "--user", "crm", "--pass", "p@ss"]
  let running: ReturnType<typeof spawn> | null = null

  const start = async () => {
    running = spawn(program, args, { stdio: "ignore" })
    while (!(await accepts(port))) await setTimeout(20)
  }

  const stop = async () => {
    if (running === null) return
    const ended = once(running, "exit")
    running.kill("SIGKILL")
    running = null
    await ended
  }

  const remove = async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  }

  return { address: `nats://crm:p%40ss@127.0.0.1:${port}`, port, start, stop, remove }
}
