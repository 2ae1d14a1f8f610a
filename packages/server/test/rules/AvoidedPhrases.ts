/** The phrases that no text of the repository contains, each with what to write instead. */

export interface AvoidedPhrase {
  readonly phrase: RegExp
  readonly instead: string
}

/** Phrases to avoid in every text: a reader has to decode them. */
export const avoidedEverywhere: ReadonlyArray<AvoidedPhrase> = [
  { phrase: /\/\*\* (?:What|Who|Which) /, instead: "start a docstring with a noun phrase or a verb" },
  { phrase: /\bbesides?\b/i, instead: "compared with, alongside, during, in addition to" },
  { phrase: /\breal networks?\b/i, instead: "WhatsApp, Messenger, and Instagram" },
  { phrase: /\b(?:some|no)body\b|\bwhoever\b/i, instead: "name the person: client, operator, subscriber, contact" },
  { phrase: /\bgo(?:es)? on\b/i, instead: "continue" },
  { phrase: /\b(?:is|are) away\b/i, instead: "is unavailable" },
  { phrase: /\bin hand\b/i, instead: "in progress" },
  { phrase: /\bdoubled\b/i, instead: "duplicated" },
  { phrase: /\bas many as (?:it|they) may\b/i, instead: "up to the limit" },
  { phrase: /\btak(?:e|es|en) in\b/i, instead: "process" },
  { phrase: /\bholds? up\b/i, instead: "block, delay" },
  { phrase: /\bfor good\b/i, instead: "permanently" },
  { phrase: /\bblindly\b/i, instead: "automatically" },
  { phrase: /\bbegins? anew\b/i, instead: "start over" },
  {
    phrase: /(?<!\bconnection )\brefus(?:es?|ed|ing|als?)\b(?! (?:to|connections?)\b)/i,
    instead: "reject a request; only a connection is refused, and a program can refuse to do something"
  }
]

/** Phrases to avoid in texts for users: also relative clauses in place of a noun, and descriptions of a page instead of its subject. */
export const avoidedForUsers: ReadonlyArray<AvoidedPhrase> = [
  ...avoidedEverywhere,
  { phrase: /\b(?:is|are|be) none\b/i, instead: "there is no" },
  {
    phrase: /\bwhat (?:is|was|are|were|waits|came|comes)\b(?![^|.]*\?)/i,
    instead: "a noun; a question in a table may ask what a thing is"
  },
  { phrase: /At the end of this page/i, instead: "the subject of the page" },
  { phrase: /\bexactly when\b/i, instead: "only if" },
  { phrase: /\buntil before\b/i, instead: "before" },
  { phrase: /\bover all (?:\w+ )?(?:workers|processes|lanes)\b/i, instead: "in total" },
  {
    phrase:
      /\berased (?:person|persons|people)\b|\b(?:person|people|contact) (?:was|is|were|are|has(?: since)? been) erased\b/i,
    instead: "a person's data is erased, not the person"
  },
  { phrase: /\brecords of the audit\b/i, instead: "audit records" },
  { phrase: /\bpaths are below\b/i, instead: "paths are relative to" },
  { phrase: /\bstorages\b|\ba storage\b(?! (?:adapter|budget))/i, instead: "store, database, storage adapter" },
  { phrase: /\bper \w+ and (?:minute|window|process)\b/i, instead: "per key per minute" },
  { phrase: /\ba time of the last\b/i, instead: "the time of the latest" },
  { phrase: /\bfull stops?\b/i, instead: "period" },
  { phrase: /\bthe maximum of\b/i, instead: "at most, the maximum number of" },
  { phrase: /\bpresent (?:members?|numbers?|values?|one)\b/i, instead: "current, existing" },
  { phrase: /\bwithout end\b/i, instead: "indefinitely" },
  { phrase: /\bmeanwhile\b/i, instead: "during, at the same time" },
  { phrase: /\bbeyond (?:its|a|the) (?:limit|maximum)s?\b/i, instead: "above the limit" },
  { phrase: /\bforeign (?:hosts?|origins?|names?)\b/i, instead: "other, third-party" }
]
