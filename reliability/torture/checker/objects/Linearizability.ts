/**
 * Decides whether concurrent calls have an order, allowed by their times, that a sequential specification explains.
 *
 * The search is Wing and Gong's, with Lowe's cache of the configurations that failed, as in Porcupine: calls and returns
 * are a linked list. The search linearizes a call that no return precedes, and backtracks if there is no such call.
 */

/** A call on one object. */
export interface Step<Action> {
  /** The call and, if there was a response, the response. */
  readonly action: Action
  readonly started_at: number
  /** Null without a response: the call takes effect at any time after its start, or never. */
  readonly ended_at: number | null
  /** Whether to ignore the response: any response is then correct, and the call can also have had no effect. */
  readonly is_forgotten?: boolean
}

/** The sequential specification of one object. */
export interface Specification<State, Action> {
  readonly initial: State
  /** Returns every state that an action can produce, and none if its response is impossible in the state. */
  readonly next: (state: State, action: Action) => ReadonlyArray<State>
  /** Equal for equal states. */
  readonly keyOf: (state: State) => string
  /** Equal for actions that have equal effects. It saves the search from trying equal pending calls in every order. */
  readonly effectOf: (action: Action) => string
  /** Returns the action as if it had no response. */
  readonly forget: (action: Action) => Action
}

/** `undecided` if the search exceeds its budget of steps. */
export type SearchResult = "linearizable" | "not linearizable" | "undecided"

interface Entry<State> {
  readonly at: number
  /** The position of the step. */
  readonly step: number
  /** The entry of the return; undefined for a return, and null for a call without a response. */
  returns: Entry<State> | null | undefined
  previous: Entry<State> | null
  next: Entry<State> | null
}

const unlink = <State>(entry: Entry<State>) => {
  if (entry.previous !== null) entry.previous.next = entry.next
  if (entry.next !== null) entry.next.previous = entry.previous
}

const relink = <State>(entry: Entry<State>) => {
  if (entry.previous !== null) entry.previous.next = entry
  if (entry.next !== null) entry.next.previous = entry
}

/** Links calls and returns in the order of time. Of equal times calls come first, so that they overlap. */
const link = <State>(steps: ReadonlyArray<Step<unknown>>): Entry<State> => {
  const entries: Array<Entry<State>> = []
  for (const [step, { ended_at, started_at }] of steps.entries()) {
    const call: Entry<State> = { at: started_at, step, returns: null, previous: null, next: null }
    entries.push(call)
    if (ended_at === null) continue
    call.returns = { at: ended_at, step, returns: undefined, previous: null, next: null }
    entries.push(call.returns)
  }
  const isReturn = ({ returns }: Entry<State>) => Number(returns === undefined)
  entries.sort((a, b) => a.at - b.at || isReturn(a) - isReturn(b))
  const head: Entry<State> = { at: -1, step: -1, returns: undefined, previous: null, next: null }
  let last = head
  for (const entry of entries) {
    last.next = entry
    entry.previous = last
    last = entry
  }
  return head
}

/** The search for an order. */
class Search<State, Action> {
  private readonly specification: Specification<State, Action>
  private readonly steps: ReadonlyArray<Step<Action>>
  private readonly head: Entry<State>
  /** A bit for each call. In the order of starts, only a short range of words is neither full nor empty. */
  private readonly linearized: Uint16Array
  /** The position of the first word that is not full, and that after the last word that is not empty. */
  private low = 0
  private high = 0
  private readonly failed = new Set<string>()
  private readonly path: Array<
    { readonly entry: Entry<State>; readonly before: State; readonly others: Array<State> }
  > = []
  private state: State
  private unexplained: number

  constructor(specification: Specification<State, Action>, steps: ReadonlyArray<Step<Action>>) {
    this.specification = specification
    this.steps = steps
    this.head = link(steps)
    this.linearized = new Uint16Array(Math.ceil(steps.length / 16))
    this.state = specification.initial
    this.unexplained = steps.filter(({ ended_at }) => ended_at !== null).length
  }

  run(budget: number): SearchResult {
    let entry = this.head.next
    for (let tried = 0; this.unexplained > 0; tried++) {
      if (tried > budget) return "undecided"
      if (entry !== null && entry.returns !== undefined) {
        entry = this.linearize(entry, this.nextOf(entry)) ? this.head.next : entry.next
        continue
      }
      const last = this.path.pop()
      if (last === undefined) return "not linearizable"
      this.undo(last.entry, last.before)
      entry = this.linearize(last.entry, last.others) ? this.head.next : last.entry.next
    }
    return "linearizable"
  }

  /** Returns the states after a call, and for a call without a response only those that differ from the state before. */
  private nextOf(entry: Entry<State>): Array<State> {
    const { forget, keyOf, next } = this.specification
    const step = this.steps[entry.step]
    if (step === undefined || this.hasEarlierEqual(entry, step)) return []
    const { action, ended_at, is_forgotten = false } = step
    const states = Array.from(next(this.state, is_forgotten ? forget(action) : action))
    if (ended_at !== null) return is_forgotten ? [...states, this.state] : states
    const before = keyOf(this.state)
    return states.filter((state) => keyOf(state) !== before)
  }

  /** Returns whether an earlier pending call that was not linearized has the same effect, so that the search must linearize that one first. */
  private hasEarlierEqual(entry: Entry<State>, { action, ended_at }: Step<Action>): boolean {
    if (ended_at !== null) return false
    const { effectOf } = this.specification
    const effect = effectOf(action)
    for (let other = entry.previous; other !== null; other = other.previous) {
      const step = this.steps[other.step]
      if (other.returns === null && step !== undefined && effectOf(step.action) === effect) return true
    }
    return false
  }

  /** Linearizes a call with the first of its next states that has not failed before. */
  private linearize(entry: Entry<State>, states: Array<State>): boolean {
    this.mark(entry, true)
    const linearized = this.linearizedKey()
    for (let state = states.shift(); state !== undefined; state = states.shift()) {
      const configuration = `${this.specification.keyOf(state)}\n${linearized}`
      if (this.failed.has(configuration)) continue
      this.failed.add(configuration)
      this.path.push({ entry, before: this.state, others: states })
      this.state = state
      unlink(entry)
      if (entry.returns) {
        unlink(entry.returns)
        this.unexplained -= 1
      }
      return true
    }
    this.mark(entry, false)
    return false
  }

  private mark({ step }: Entry<State>, isLinearized: boolean): void {
    const [word, bit] = [step >> 4, 1 << (step & 15)]
    const before = this.linearized[word] ?? 0
    this.linearized[word] = isLinearized ? before | bit : before & ~bit
    if (isLinearized) this.high = Math.max(this.high, word + 1)
    else this.low = Math.min(this.low, word)
    while (this.linearized[this.low] === 0xffff) this.low += 1
    while (this.high > this.low && this.linearized[this.high - 1] === 0) this.high -= 1
  }

  /** Equal for equal sets of linearized calls. */
  private linearizedKey(): string {
    return `${this.low} ${String.fromCharCode(...this.linearized.subarray(this.low, this.high))}`
  }

  private undo(entry: Entry<State>, before: State): void {
    this.state = before
    this.mark(entry, false)
    if (entry.returns) {
      relink(entry.returns)
      this.unexplained += 1
    }
    relink(entry)
  }
}

/** Returns whether the calls have an order that explains their responses. */
export const search = <State, Action>(
  specification: Specification<State, Action>,
  steps: ReadonlyArray<Step<Action>>,
  budget = 3_000_000
): SearchResult => new Search(specification, steps.toSorted((a, b) => a.started_at - b.started_at)).run(budget)
