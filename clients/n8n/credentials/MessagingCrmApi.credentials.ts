import type { IAuthenticateGeneric, Icon, ICredentialTestRequest, ICredentialType, INodeProperties } from "n8n-workflow"

export class MessagingCrmApi implements ICredentialType {
  name = "messagingCrmApi"

  displayName = "Messaging CRM API"

  icon: Icon = { light: "file:../icons/crm.svg", dark: "file:../icons/crm.dark.svg" }

  documentationUrl = "https://messaging-crm.example"

  properties: INodeProperties[] = [
    {
      displayName: "Base URL",
      name: "baseUrl",
      type: "string",
      default: "",
      required: true,
      placeholder: "https://crm.example.com/v1",
      description: "The address of the service, with the version of the API"
    },
    {
      displayName: "API Key",
      name: "apiKey",
      type: "string",
      typeOptions: { password: true },
      default: "",
      required: true,
      placeholder: "svc_live_…",
      description: "A key with only the scopes that your workflows need"
    }
  ]

  authenticate: IAuthenticateGeneric = {
    type: "generic",
    properties: { headers: { Authorization: "=Bearer {{$credentials.apiKey}}" } }
  }

  test: ICredentialTestRequest = {
    request: { baseURL: "={{$credentials.baseUrl}}", url: "/channels" }
  }
}
