/** Reads cells as the programs that wrote them mean them. */
import { LeadStatus, LifecycleStage } from "@messaging-crm/core/Contacts"

/** Returns a name without case, spaces, and punctuation, so that `First Name`, `first_name`, and `FirstName` are equal. */
export const nameKey = (name: string): string => name.normalize("NFKC").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "")

/** Returns a trimmed cell without the marks that keep spreadsheets from reading it as a formula: `'+49…`, `="+49…"`, `=+49…`. */
export const plainText = (written: string): string => {
  const cell = written.trim()
  switch (cell.charCodeAt(0)) {
    case 39: // '
      return /^'[=+\-@\t]/.test(cell) ? plainText(cell.slice(1)) : cell
    case 61: { // =
      const text = /^=("+)([^]*)\1$/.exec(cell)?.[2]
      if (text !== undefined) return text.replaceAll("\"\"", "\"").trim()
      return /^=\+[0-9]/.test(cell) ? cell.slice(1) : cell
    }
    default:
      return cell
  }
}

/** Returns the first of several values in one cell, as Google Contacts joins them. */
export const firstValue = (cell: string): string =>
  cell.includes(":::") ? cell.split(":::").map((part) => part.trim()).find((part) => part !== "") ?? "" : cell

const date = (year: string, month: string, day: string): string =>
  `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}`

/** Returns whether a date has no year, as Google Contacts and vCards write it: `--03-14`. */
export const isYearless = (cell: string): boolean => /^--(?:\d{1,2}-\d{1,2}|\d{4})$/.test(cell)

/**
 * Returns a date as YYYY-MM-DD if only one reading is possible, otherwise the text, which is then rejected. A date without
 * a year is left out.
 */
const birthday = (cell: string): string => {
  if (isYearless(cell)) return ""
  const iso = /^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ]00:00(?::00(?:\.0+)?)?Z?)?$/.exec(cell)
  if (iso) return date(iso[1] ?? "", iso[2] ?? "", iso[3] ?? "")
  const dotted = /^(\d{1,2})\. ?(\d{1,2})\. ?(\d{4})$/.exec(cell)
  if (dotted) return date(dotted[3] ?? "", dotted[2] ?? "", dotted[1] ?? "")
  const [, one = "", other = "", year = ""] = /^(\d{1,2})[-/](\d{1,2})[-/](\d{4})$/.exec(cell) ?? []
  if (year !== "" && Number(one) > 12) return date(year, other, one)
  if (year !== "" && (Number(other) > 12 || Number(one) === Number(other))) return date(year, one, other)
  // Outlook writes this for no date.
  return cell === "0/0/00" ? "" : cell
}

/** Returns the literal that a label such as `In Progress` names, otherwise the label, which is then rejected. */
const labelOf = (labels: ReadonlyArray<readonly [label: string, literal: string]>) => {
  const byKey = new Map(labels.map(([label, literal]) => [nameKey(label), literal]))
  return (cell: string): string => byKey.get(nameKey(cell)) ?? cell
}

const lead_statuses = LeadStatus.literals.map((literal) => [literal, literal] as const)
const lifecycle_stages = [
  ...LifecycleStage.literals.map((literal) => [literal, literal] as const),
  ["Marketing Qualified Lead", "marketing_qualified"],
  ["Sales Qualified Lead", "sales_qualified"]
] as const satisfies ReadonlyArray<readonly [string, LifecycleStage]>

/** Returns the names of tags, separated as in a cell for tags. Google's own groups, such as `* myContacts`, are no tags. */
const tags = (cell: string): string =>
  cell.includes(":::") || cell.startsWith("* ")
    ? cell.split(":::").map((part) => part.trim()).filter((part) => !part.startsWith("* ")).join(";")
    : cell

/** Returns a URL with its scheme, which people leave out. */
const webUrl = (cell: string): string =>
  /^[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+(?:[/?#:]\S*)?$/u.test(cell) ? `https://${cell}` : cell

/** Returns a phone number without the apostrophe that makes it a text. */
const phone = (cell: string): string => /^'\d/.test(cell) ? cell.slice(1) : cell

/** How the cells of some fields are read. Other cells are taken as they are. */
export const readers: Readonly<Partial<Record<string, (cell: string) => string>>> = {
  birthday,
  lead_status: labelOf(lead_statuses),
  lifecycle_stage: labelOf(lifecycle_stages),
  network_url: webUrl,
  primary_phone: phone,
  tags,
  website_url: webUrl
}
