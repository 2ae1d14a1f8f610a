/** Admission: when a request that has arrived begins, and how many responses can be in preparation at once. */
import type { Exchange } from "./Connection.ts"
import type { OpenConnections } from "./OpenConnections.ts"
import * as Rejections from "./Rejections.ts"

/** The maximum number of requests that begin in one turn of the event loop. */
const begun_per_turn_max = 32

/** The limit of admission. */
export interface AdmissionLimits {
  /** How many responses can be in preparation. */
  readonly requests_max: number
}

/** The calls that admission makes for requests. */
interface Handlers {
  /** Whether requests can begin. */
  readonly isReady: () => boolean
  readonly accept: (exchange: Exchange) => void
  readonly reject: (exchange: Exchange, rejection: Rejections.Rejection) => void
}

export class Admission {
  private readonly handlers: Handlers
  private readonly openConnections: OpenConnections
  private readonly requests_max: number
  /** Requests that arrived and have not begun: also those from before the server had a listener, which Node would drop. */
  private readonly arrived: Array<Exchange> = []
  private isBeginning = false

  constructor({ requests_max }: AdmissionLimits, openConnections: OpenConnections, handlers: Handlers) {
    this.handlers = handlers
    this.openConnections = openConnections
    this.requests_max = requests_max
  }

  /** Adds a request that has arrived. It begins at the end of this turn of the event loop. */
  add(exchange: Exchange): void {
    this.arrived.push(exchange)
    this.beginSoon()
  }

  /** Begins what has arrived at the end of this turn. */
  beginSoon(): void {
    if (this.isBeginning) return
    this.isBeginning = true
    setImmediate(() => {
      this.isBeginning = false
      this.begin()
    })
  }

  /**
   * Starts the requests of one event-loop turn together, so that their statements reach the database in one write. At most
   * 32 start per turn, because Node accepts one connection per turn.
   */
  private begin(): void {
    if (!this.handlers.isReady()) return
    let free_slots = this.countFreeSlots()
    for (const exchange of this.arrived.splice(0, begun_per_turn_max)) {
      if (exchange.request.destroyed) continue
      const rejection = free_slots-- > 0 ? Rejections.check(exchange.request) : Rejections.overloaded
      if (rejection === null) this.handlers.accept(exchange)
      else this.handlers.reject(exchange, rejection)
    }
    if (this.arrived.length > 0) this.beginSoon()
  }

  /**
   * Returns how many of the requests that have arrived can begin. A request counts while its response is being prepared: not
   * while its body arrives or its response is sent, because a slow client could make that last.
   */
  private countFreeSlots(): number {
    const { arrived, openConnections, requests_max } = this
    if (openConnections.inUse <= requests_max) return requests_max
    // Those that have arrived and not begun are among the counted ones, unless their body arrives or their client has left.
    const waiting = arrived.filter(({ request }) => request.complete && !request.destroyed).length
    return requests_max - (openConnections.countPreparing() - waiting)
  }
}
