/** The data of the demo organization, and of further contacts. */
import { CreateContact } from "@messaging-crm/core/Contacts"
import type { ProviderMessageReceived } from "@messaging-crm/core/Inbound"
import { Phone } from "@messaging-crm/core/Phones"
import { picture } from "@messaging-crm/provider-mock"

export const people = [
  ["Amélie", "Dubois", "+33612345601", "Boulangerie Dubois"],
  ["Jonas", "Weber", "+4915112345602", null],
  ["Siobhán", "O’Neill", "+353861234603", "Harbour Bikes"],
  ["Priya", "Natarajan", "+919812345604", "Blue Lotus Textiles"],
  ["Mateo", "García", "+34612345605", null],
  ["İpek", "Yılmaz", "+905321234506", "Yılmaz Optik"],
  ["Noa", "Levi", "+972501234507", null],
  ["花子", "山田", "+819012345608", "山田商店"]
] as const

const givenNames = ["Lea", "Oskar", "Zeynep", "Tomás", "Ngozi", "Mei", "Ravi", "Freya", "Łukasz", "Amina"]
const familyNames = ["Schmidt", "Costa", "Okafor", "Chen", "Nowak", "Haddad", "Lindqvist"]

/** More contacts than fit on a page, so that pagination can be tried. */
export const manyContacts = givenNames.flatMap((first_name, row) =>
  familyNames.map((last_name, column) =>
    CreateContact.make({
      first_name,
      last_name,
      primary_email: `${row}.${column}@demo.example`,
      primary_phone: Phone.make(`+49151900${row}${column}100`),
      lifecycle_stage: column % 2 === 0 ? "lead" : "customer",
      source: "demo"
    })
  )
)

export const channelsToConnect = [
  {
    type: "phone_messaging",
    name: "Support line",
    address: "+493012345678",
    phone_messaging_business_account_id: "demo"
  },
  { type: "photo_social", name: "Photos", address: "@demo.shop", phone_messaging_business_account_id: null },
  { type: "page_messaging", name: "Page", address: "demo-shop", phone_messaging_business_account_id: null }
] as const

export const orderReady = (id: string, name: string, order: string) => ({
  id,
  components: [
    { type: "header" as const, parameters: [{ type: "text" as const, text: order }] },
    {
      type: "body" as const,
      parameters: [{ type: "text" as const, text: name }, { type: "text" as const, text: order }]
    },
    {
      type: "button" as const,
      sub_type: "url" as const,
      index: 0,
      parameters: [{ type: "text" as const, text: order }]
    }
  ]
})

export type MessageContent = Pick<ProviderMessageReceived, "media" | "text" | "type">

export const words = (text: string): MessageContent => ({ type: "text", text, media: null })

export const snapshot: MessageContent = {
  type: "image",
  text: null,
  media: { kind: "image", mime_type: "image/png", filename: null, transcript: null, bytes: picture }
}

export const order: MessageContent = {
  type: "document",
  text: "This one.",
  media: {
    kind: "document",
    mime_type: "text/plain; charset=utf-8",
    filename: "Bestellung für Tom.txt",
    transcript: null,
    bytes: new TextEncoder().encode("1 × bicycle, blue, size M\n2 × inner tube, 28″\n")
  }
}

export const generatedContact = (index: number) => {
  const number = String(index).padStart(7, "0")
  return CreateContact.make({
    first_name: "Contact",
    last_name: number,
    primary_phone: Phone.make(`+4915${number}00`),
    primary_email: `contact-${number}@demo.example`,
    source: "seed"
  })
}
