import {
  type IDataObject,
  type IHookFunctions,
  type IHttpRequestMethods,
  type INodeProperties,
  type INodeType,
  type INodeTypeDescription,
  type IWebhookFunctions,
  type IWebhookResponseData,
  NodeConnectionTypes,
  NodeOperationError
} from "n8n-workflow"
import { triggerProperties } from "../MessagingCrm/operations.json"
import { urlOf } from "../MessagingCrm/request"
import { isSigned } from "./signature"

/** The webhook of the node, in its static data. */
interface Kept {
  webhook_id?: string
  signing_secret?: string
}

const keptOf = (node: IHookFunctions | IWebhookFunctions): Kept => node.getWorkflowStaticData("node")

interface Response {
  readonly statusCode: number
  readonly body: { readonly data?: IDataObject; readonly error?: { readonly message: string } }
}

/** Sends a request, and returns its response, whatever its status. */
const send = async (node: IHookFunctions, method: IHttpRequestMethods, path: string, body?: IDataObject) => {
  const response: Response = await node.helpers.httpRequestWithAuthentication.call(node, "messagingCrmApi", {
    method,
    url: await urlOf(node, path),
    json: true,
    returnFullResponse: true,
    ignoreHttpStatusErrors: true,
    ...(method === "GET" ? {} : { headers: { "Idempotency-Key": crypto.randomUUID() } }),
    ...(body === undefined ? {} : { body })
  })
  return response
}

const rejected = (node: IHookFunctions, { body, statusCode }: Response) =>
  new NodeOperationError(node.getNode(), body.error?.message ?? `The service responded with ${statusCode}.`)

const subscriptionOf = (node: IHookFunctions): IDataObject => ({
  url: node.getNodeWebhookUrl("default"),
  event_types: node.getNodeParameter("event_types") as string[],
  include_resource: node.getNodeParameter("include_resource") as boolean
})

export class MessagingCrmTrigger implements INodeType {
  description: INodeTypeDescription = {
    displayName: "Messaging CRM Trigger",
    name: "messagingCrmTrigger",
    icon: { light: "file:../../icons/crm.svg", dark: "file:../../icons/crm.dark.svg" },
    group: ["trigger"],
    version: 1,
    subtitle: "={{ $parameter[\"event_types\"].join(\", \") }}",
    description: "Starts the workflow when an event occurs in Messaging CRM",
    defaults: { name: "Messaging CRM Trigger" },
    inputs: [],
    outputs: [NodeConnectionTypes.Main],
    credentials: [{ name: "messagingCrmApi", required: true }],
    webhooks: [{ name: "default", httpMethod: "POST", responseMode: "onReceived", path: "webhook" }],
    // The generated file has the values of these types.
    properties: triggerProperties as INodeProperties[]
  }

  webhookMethods = {
    default: {
      async checkExists(this: IHookFunctions): Promise<boolean> {
        const { webhook_id } = keptOf(this)
        if (webhook_id === undefined) return false
        const response = await send(this, "GET", `/webhooks/${webhook_id}`)
        if (response.statusCode === 404) return false
        const { data } = response.body
        if (data === undefined) throw rejected(this, response)
        const { event_types, include_resource, url } = subscriptionOf(this)
        const [found, wanted] = [data.event_types, event_types].map((types) => (types as string[]).toSorted().join())
        return data.status === "active" && data.url === url && data.include_resource === include_resource &&
          found === wanted
      },

      async create(this: IHookFunctions): Promise<boolean> {
        const response = await send(this, "POST", "/webhooks", subscriptionOf(this))
        const { data } = response.body
        if (data === undefined) throw rejected(this, response)
        Object.assign(keptOf(this), { webhook_id: data.id, signing_secret: data.signing_secret })
        return true
      },

      async delete(this: IHookFunctions): Promise<boolean> {
        const kept = keptOf(this)
        if (kept.webhook_id === undefined) return true
        const response = await send(this, "DELETE", `/webhooks/${kept.webhook_id}`)
        if (response.body.data === undefined && response.statusCode !== 404) return false
        delete kept.webhook_id
        delete kept.signing_secret
        return true
      }
    }
  }

  async webhook(this: IWebhookFunctions): Promise<IWebhookResponseData> {
    const { signing_secret } = keptOf(this)
    const { rawBody } = this.getRequestObject()
    if (signing_secret === undefined || !isSigned(signing_secret, this.getHeaderData(), rawBody, Date.now())) {
      this.getResponseObject().status(401).send("The signature is invalid.").end()
      return { noWebhookResponse: true }
    }
    return { workflowData: [this.helpers.returnJsonArray(this.getBodyData())] }
  }
}
