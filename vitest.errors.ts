/** Makes `assert` compare the fields of errors too. Chai compares only their names and messages, which most errors share. */
import { chai } from "vitest"

/** Returns false if the fields of two errors differ; null if chai must decide. */
const comparator = (one: unknown, other: unknown): false | null =>
  one instanceof Error && other instanceof Error && !deepEqual({ ...one }, { ...other }) ? false : null

const deepEqual = (one: unknown, other: unknown): boolean => chai.util.eql(one, other, { comparator })

chai.config.deepEqual = deepEqual
