/** A browser as the tests of the login need it: cookies, and requests with any header. */
import { once } from "node:events"
import { type IncomingMessage, request as send } from "node:http"

export interface Received {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly cookies: ReadonlyArray<string>
  readonly text: string
}

interface Sent {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Sends a request with exactly these headers. */
const exchange = (method: string, url: string, { body, headers = {} }: Sent) =>
  new Promise<Received>((resolve, reject) => {
    const request = send(url, { method, headers, agent: false, setHost: headers["host"] === undefined }, (response) => {
      const parts: Array<Buffer> = []
      response.on("data", (part) => void parts.push(part)).on("error", reject).on("end", () => {
        const { "set-cookie": cookies = [], ...others } = response.headers
        resolve({
          status: response.statusCode ?? 0,
          headers: Object.fromEntries(Object.entries(others).map(([name, value]) => [name, String(value)])),
          cookies,
          text: Buffer.concat(parts).toString()
        })
      })
    })
    request.on("error", reject).end(body)
  })

export class Browser {
  /** The cookies of each host. A cookie that a server removes is absent. */
  readonly jar = new Map<string, Map<string, string>>()

  cookiesOf(url: string): Map<string, string> {
    const { host } = new URL(url)
    const found = this.jar.get(host) ?? new Map<string, string>()
    this.jar.set(host, found)
    return found
  }

  /** Sends a request with the cookies of the host, and keeps those of the response. */
  async send(method: string, url: string, sent: Sent = {}): Promise<Received> {
    const cookies = this.cookiesOf(url)
    const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join("; ")
    const headers = { ...cookie === "" ? {} : { cookie }, ...sent.headers }
    const received = await exchange(method, url, { ...sent, headers })
    for (const text of received.cookies) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(text) ?? []
      if (/max-age=0/i.test(text) || /expires=Thu, 01 Jan 1970/i.test(text)) cookies.delete(name)
      else cookies.set(name, value)
    }
    return received
  }

  /** Opens a stream of events. */
  async open(url: string) {
    const cookie = Array.from(this.cookiesOf(url), ([name, value]) => `${name}=${value}`).join("; ")
    const request = send(url, { headers: { cookie }, agent: false })
    const opened = once(request, "response")
    request.end()
    // The event's only value is the response.
    const [response] = await opened as [IncomingMessage]
    let text = ""
    response.setEncoding("utf8").on("data", (part) => {
      text += part
    }).on("error", () => {})
    return {
      headers: response.headers,
      ended: new Promise<void>((resolve) => response.once("end", resolve)),
      /** Returns once the received text matches. */
      until: async (pattern: RegExp) => {
        while (!pattern.test(text)) await once(response, "data")
      },
      close: () => void request.destroy()
    }
  }

  get(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Received> {
    return this.send("GET", url, { headers })
  }

  /** Follows redirects to a host as long as they lead there, and returns the address of the first one elsewhere. */
  async followWithin(host: string, url: string): Promise<string> {
    let next = url
    while (new URL(next).host === host) {
      const { headers, status, text } = await this.get(next)
      const location = headers["location"]
      if (location === undefined) throw new Error(`${next} responded with ${status}: ${text}`)
      next = new URL(location, next).href
    }
    return next
  }
}

/** Signs in at the provider's page. Returns the address to which the provider redirects. */
export const signIn = async (browser: Browser, address: string, email: string): Promise<string> => {
  const { host, origin } = new URL(address)
  const { headers } = await browser.get(address)
  const page = new URL(headers["location"] ?? "", origin)
  const sent = await browser.send("POST", page.href, {
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ email }).toString()
  })
  return browser.followWithin(host, new URL(sent.headers["location"] ?? "", origin).href)
}

/** Signs out at the provider's page. Returns the address to which the provider redirects. */
export const signOut = async (browser: Browser, address: string): Promise<string> => {
  const { text } = await browser.get(address)
  const [, action = "", xsrf = ""] = /action="([^"]+)"[^]*name="xsrf" value="([^"]+)"/.exec(text) ?? []
  if (action === "") throw new Error(`The provider has no page to sign out: ${text}`)
  const sent = await browser.send("POST", action, {
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ xsrf, logout: "yes" }).toString()
  })
  return sent.headers["location"] ?? ""
}
