import {
  type IDataObject,
  type IExecuteFunctions,
  type INodeExecutionData,
  type INodeProperties,
  type INodeType,
  type INodeTypeDescription,
  type JsonObject,
  NodeApiError,
  NodeConnectionTypes
} from "n8n-workflow"
import { properties } from "./operations.json"
import { type Page, requestOf } from "./request"

/** Runs an operation for an item, and returns its resource, or the items of its list: of one page, or of all. */
const run = async (node: IExecuteFunctions, index: number): Promise<IDataObject[]> => {
  const { all, request } = await requestOf(node, index)
  const found: IDataObject[] = []
  for (let cursor: string | null = null;;) {
    const qs: IDataObject = cursor === null ? { ...request.qs } : { ...request.qs, cursor }
    const page: Page = await node.helpers.httpRequestWithAuthentication.call(node, "messagingCrmApi", {
      ...request,
      qs
    })
    found.push(...(Array.isArray(page.data) ? page.data : [page.data]))
    cursor = page.next_cursor ?? null
    if (!all || cursor === null) return found
  }
}

export class MessagingCrm implements INodeType {
  description: INodeTypeDescription = {
    displayName: "Messaging CRM",
    name: "messagingCrm",
    icon: { light: "file:../../icons/crm.svg", dark: "file:../../icons/crm.dark.svg" },
    group: ["transform"],
    version: 1,
    subtitle: "={{ $parameter[\"operation\"] }}",
    description: "Read and change contacts and conversations, and send messages",
    defaults: { name: "Messaging CRM" },
    usableAsTool: true,
    inputs: [NodeConnectionTypes.Main],
    outputs: [NodeConnectionTypes.Main],
    credentials: [{ name: "messagingCrmApi", required: true }],
    // The generated file has the values of these types.
    properties: properties as INodeProperties[]
  }

  async execute(this: IExecuteFunctions): Promise<INodeExecutionData[][]> {
    const results: INodeExecutionData[] = []
    for (let index = 0; index < this.getInputData().length; index++) {
      try {
        const found = await run(this, index)
        results.push(...found.map((json) => ({ json, pairedItem: { item: index } })))
      } catch (error) {
        if (!this.continueOnFail()) {
          throw new NodeApiError(this.getNode(), error as JsonObject, { itemIndex: index })
        }
        results.push({ json: { error: (error as Error).message }, pairedItem: { item: index } })
      }
    }
    return [results]
  }
}
