/** Mutants that no test can kill, because nothing that anyone can observe differs. */
export interface Equivalent {
  readonly file: string
  readonly original: string
  readonly replacement: string
  readonly reason: string
}

export const equivalent: ReadonlyArray<Equivalent> = []
