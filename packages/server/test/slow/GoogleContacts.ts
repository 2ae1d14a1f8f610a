/** A generated export of Google Contacts, with the columns of its present exports. */

const columns = [
  "First Name,Middle Name,Last Name,Phonetic First Name,Phonetic Middle Name,Phonetic Last Name,Name Prefix,Name Suffix",
  "Nickname,File As,Organization Name,Organization Title,Organization Department,Birthday,Notes,Photo,Labels",
  "E-mail 1 - Label,E-mail 1 - Value,E-mail 2 - Label,E-mail 2 - Value,E-mail 3 - Label,E-mail 3 - Value",
  "Phone 1 - Label,Phone 1 - Value,Phone 2 - Label,Phone 2 - Value,Phone 3 - Label,Phone 3 - Value",
  "Address 1 - Label,Address 1 - Formatted,Address 1 - Street,Address 1 - City,Address 1 - PO Box,Address 1 - Region",
  "Address 1 - Postal Code,Address 1 - Country,Address 1 - Extended Address",
  "Website 1 - Label,Website 1 - Value,Event 1 - Label,Event 1 - Value"
].flatMap((line) => line.split(","))

const first_names = ["Lea", "Łukasz", "Ольга", "花子", "محمد", "अमित", "지우", "José Ángel", "O'Neill"]
const last_names = ["Schmidt", "Nowak", "Иванова", "山田", "الحداد", "शर्मा", "김", "d'Arc", "Müller, Jr."]
const companies = ["", "Acme, Ltd", "ООО \"Ромашка\"", "株式会社花"]
const notes = ["", "Met at stand 7.\nAsked for the \"spring\" list.", "First line\r\n\r\nthird ::: line", "- a\n- b\n"]

/** A person of the export, as an import reads them. */
export interface Person {
  readonly first_name: string | null
  readonly last_name: string | null
  readonly primary_phone: string | null
  readonly primary_email: string | null
  readonly notes: string | null
}

const pick = (values: ReadonlyArray<string>, index: number): string => values[index % values.length] ?? ""

const digits = (index: number): string => String(10_000_000 + index)

const notesOf = (index: number): string => pick(notes, Math.floor(index / 3))

/** Some people have no phone, some no email, and some no name. Everyone has a phone or an email. */
export const personOf = (index: number): Person => ({
  first_name: index % 50 === 49 ? null : pick(first_names, index),
  last_name: index % 50 === 49 ? null : `${pick(last_names, Math.floor(index / 9))} ${index}`,
  primary_phone: index % 10 === 7 ? null : `+49151${digits(index)}`,
  primary_email: index % 5 === 3 ? null : `person.${index}@mail.example`,
  notes: notesOf(index).trim() || null
})

/** Returns the phones: one, several in a cell, or in columns of which the first is empty. */
const phonesOf = (index: number): Readonly<Record<string, string>> => {
  if (personOf(index).primary_phone === null) return {}
  const mobile = `+49 151 ${digits(index)}`
  const work = `+49 30 ${digits(index)}`
  switch (index % 4) {
    case 0:
      return { "Phone 1 - Label": "Mobile", "Phone 1 - Value": mobile }
    case 1:
      return { "Phone 1 - Label": "Mobile", "Phone 1 - Value": `${mobile} ::: ${work}` }
    case 2:
      return { "Phone 2 - Label": "* Work", "Phone 2 - Value": mobile, "Phone 3 - Value": work }
    default:
      return { "Phone 1 - Value": mobile, "Phone 2 - Label": "Work", "Phone 2 - Value": `${work} ::: ${work}1` }
  }
}

const emailsOf = (index: number): Readonly<Record<string, string>> => {
  const { primary_email } = personOf(index)
  if (primary_email === null) return {}
  return index % 3 === 0
    ? { "E-mail 1 - Label": "* ", "E-mail 1 - Value": `${primary_email} ::: second.${primary_email}` }
    : { "E-mail 2 - Label": "Work", "E-mail 2 - Value": primary_email }
}

const cellsOf = (index: number): Readonly<Record<string, string>> => ({
  ...phonesOf(index),
  ...emailsOf(index),
  "First Name": personOf(index).first_name ?? "",
  "Middle Name": index % 11 === 0 ? "Maria" : "",
  "Last Name": personOf(index).last_name ?? "",
  "Organization Name": pick(companies, Math.floor(index / 4)),
  "Birthday": index % 6 === 0 ? `19${60 + index % 40}-03-14` : index % 1000 === 1 ? "--03-14" : "",
  "Notes": notesOf(index),
  "Photo": index % 8 === 0 ? `https://lh3.googleusercontent.com/contacts/${index}` : "",
  "Labels": index % 2 === 0 ? "* myContacts" : "Friends ::: * myContacts ::: * starred",
  "Address 1 - Formatted": index % 12 === 0 ? "Lane 1\n10115 Berlin" : "",
  "Address 1 - City": index % 12 === 0 ? "Berlin" : "",
  "Website 1 - Value": index % 20 === 0 ? "www.acme.example" : ""
})

const written = (cell: string): string => /[",\r\n]/.test(cell) ? `"${cell.replaceAll("\"", "\"\"")}"` : cell

const lineOf = (cells: Readonly<Record<string, string>>): string =>
  `${columns.map((column) => written(cells[column] ?? "")).join(",")}\n`

/** Returns the export of the people with indices below `count`. `change` replaces cells of a person. */
export const googleExport = (
  count: number,
  change: (index: number) => Readonly<Record<string, string>> = () => ({})
): string => {
  const lines = Array.from({ length: count }, (_, index) => lineOf({ ...cellsOf(index), ...change(index) }))
  return `${columns.join(",")}\n${lines.join("")}`
}
