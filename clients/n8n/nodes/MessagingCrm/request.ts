import {
  type IDataObject,
  type IExecuteFunctions,
  type IHookFunctions,
  type IHttpRequestOptions,
  NodeOperationError
} from "n8n-workflow"
import { requests } from "./operations.json"

/** The body of a response: a resource, or a page of a list. */
export interface Page {
  readonly data: IDataObject | IDataObject[]
  readonly next_cursor?: string | null
}

interface Field {
  readonly name: string
  /** Whether the parameter has JSON as a text. */
  readonly json?: boolean
  /** Whether the parameter is in the collection of optional ones. */
  readonly optional?: boolean
}

interface Operation {
  readonly method: string
  readonly path: string
  readonly path_fields: readonly Field[]
  readonly query: readonly Field[]
  /** The fields of the body; null if one parameter has the whole body. */
  readonly body: readonly Field[] | null
}

const operations = requests as unknown as Readonly<Record<string, Operation>>

/** The longest idempotency key. */
const key_chars_max = 200

/** Returns a key that is the same in each attempt of an execution, and differs for each item and run of the node. */
const keyOf = (node: IExecuteFunctions, index: number): string => {
  const run_index = node.getWorkflowDataProxy(index).$runIndex as number
  return `n8n-${node.getExecutionId()}-${run_index}-${index}-${node.getNode().id}`.slice(0, key_chars_max)
}

/** Returns the address of a path of the service that the credentials name. */
export const urlOf = async (node: IExecuteFunctions | IHookFunctions, path: string): Promise<string> => {
  const { baseUrl } = await node.getCredentials("messagingCrmApi")
  return `${String(baseUrl).replace(/\/+$/, "")}${path}`
}

/** Returns the request of an item, and whether all pages are requested. */
export const requestOf = async (node: IExecuteFunctions, index: number) => {
  const operation = operations[node.getNodeParameter("operation", index) as string]
  if (operation === undefined) {
    throw new NodeOperationError(node.getNode(), "The operation does not exist.", { itemIndex: index })
  }
  const options = node.getNodeParameter("options", index, {}) as IDataObject
  const valueOf = ({ json, name, optional }: Field): unknown => {
    const given = optional ? options[name] : node.getNodeParameter(name, index)
    if (json !== true || typeof given !== "string") return given
    try {
      return JSON.parse(given)
    } catch {
      throw new NodeOperationError(node.getNode(), `${name} must be JSON.`, { itemIndex: index })
    }
  }
  const valuesOf = (fields: readonly Field[]): IDataObject =>
    Object.fromEntries(
      fields.map((field) => [field.name, valueOf(field)]).filter(([, value]) => value !== undefined)
    ) as IDataObject
  const path = Object.entries(valuesOf(operation.path_fields)).reduce(
    (filled, [name, value]) => filled.replace(`{${name}}`, encodeURIComponent(String(value))),
    operation.path
  )
  const isWrite = operation.method !== "GET"
  const body = operation.body === null ? valueOf({ name: "body", json: true }) : valuesOf(operation.body)
  const request: IHttpRequestOptions = {
    method: operation.method as IHttpRequestOptions["method"],
    url: await urlOf(node, path),
    qs: valuesOf(operation.query),
    json: true,
    ...(isWrite ? { headers: { "Idempotency-Key": (options.idempotency_key as string) || keyOf(node, index) } } : {}),
    ...(operation.body === null || operation.body.length > 0 ? { body: body as IDataObject } : {})
  }
  return { request, all: options.return_all === true }
}
