import type { Fetch } from "./Attempt.ts"
import { channels } from "./Channels.ts"
import { contactFields } from "./ContactFields.ts"
import { contacts } from "./Contacts.ts"
import { conversations } from "./Conversations.ts"
import { events } from "./Events.ts"
import { members } from "./Members.ts"
import { messages } from "./Messages.ts"
import { sends } from "./Sends.ts"
import { tags } from "./Tags.ts"
import { templates } from "./Templates.ts"
import { checkLimits, type Retry, type Transport, transport } from "./Transport.ts"
import { webhooks } from "./Webhooks.ts"

export interface MessagingCrmOptions {
  /** An API key of the organization, `svc_live_…`. Use it on servers only, never in a web page or app. */
  readonly apiKey: string
  /** The service's address with the version, such as `https://crm.example.com/v1`, without query and fragment. */
  readonly baseUrl: string
  /** The maximum number of retries, 3 by default. */
  readonly maxRetries?: number
  /** The time limit of one attempt in milliseconds, 30,000 by default. */
  readonly timeout?: number
  /** Called before each retry, for example to log it. Its errors fail the call. */
  readonly onRetry?: (retry: Retry) => void
  /** A replacement for the global `fetch`. */
  readonly fetch?: Fetch
}

/** Rejects options that no request could be sent with. */
const checkSettings = ({ apiKey, baseUrl, ...limits }: MessagingCrmOptions): void => {
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new TypeError("apiKey must be an API key such as svc_live_…, without white space.")
  }
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null
  if (
    url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "" ||
    /[?#\s]/.test(baseUrl)
  ) {
    throw new TypeError(
      "baseUrl must be an http or https URL such as https://crm.example.com/v1, without query, fragment, or white space."
    )
  }
  checkLimits(limits)
}

/** A client of the Messaging CRM API. */
export class MessagingCrm {
  readonly channels: ReturnType<typeof channels>
  readonly contactFields: ReturnType<typeof contactFields>
  readonly contacts: ReturnType<typeof contacts>
  readonly conversations: ReturnType<typeof conversations>
  readonly events: ReturnType<typeof events>
  readonly members: ReturnType<typeof members>
  readonly messages: ReturnType<typeof messages>
  readonly sends: ReturnType<typeof sends>
  readonly tags: ReturnType<typeof tags>
  readonly templates: ReturnType<typeof templates>
  readonly webhooks: ReturnType<typeof webhooks>
  /**
   * Calls any operation by its method and path, such as `GET /contacts/{contact_id}`, and returns the body of its response, for
   * programs that choose the operation when they run.
   */
  readonly request: Transport["request"]

  constructor(options: MessagingCrmOptions) {
    const { apiKey, baseUrl, fetch = globalThis.fetch, maxRetries = 3, onRetry = () => {}, timeout = 30_000 } = options
    checkSettings(options)
    const calls: Transport = transport({ apiKey, baseUrl, fetch, maxRetries, onRetry, timeout })
    this.channels = channels(calls)
    this.contactFields = contactFields(calls)
    this.contacts = contacts(calls)
    this.conversations = conversations(calls)
    this.events = events(calls)
    this.members = members(calls)
    this.messages = messages(calls)
    this.sends = sends(calls)
    this.tags = tags(calls)
    this.templates = templates(calls)
    this.webhooks = webhooks(calls)
    this.request = calls.request
  }
}
