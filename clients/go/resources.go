package messagingcrm

import (
	"context"
	"net/url"
)

// The resources, with methods of the names that the TypeScript client has. A body can be Data or a struct of your own.
type (
	Channels      struct{ resource }
	ContactFields struct{ resource }
	Contacts      struct{ resource }
	Conversations struct{ resource }
	Events        struct{ resource }
	Members       struct{ resource }
	Messages      struct{ resource }
	Sends         struct{ resource }
	Tags          struct{ resource }
	Templates     struct{ resource }
	Webhooks      struct{ resource }
)

func (client *Client) Channels() Channels           { return Channels{resource{client}} }
func (client *Client) ContactFields() ContactFields { return ContactFields{resource{client}} }
func (client *Client) Contacts() Contacts           { return Contacts{resource{client}} }
func (client *Client) Conversations() Conversations { return Conversations{resource{client}} }
func (client *Client) Events() Events               { return Events{resource{client}} }
func (client *Client) Members() Members             { return Members{resource{client}} }
func (client *Client) Messages() Messages           { return Messages{resource{client}} }
func (client *Client) Sends() Sends                 { return Sends{resource{client}} }
func (client *Client) Tags() Tags                   { return Tags{resource{client}} }
func (client *Client) Templates() Templates         { return Templates{resource{client}} }
func (client *Client) Webhooks() Webhooks           { return Webhooks{resource{client}} }

func (r Channels) List(query url.Values) *Pages {
	return r.list("GET /channels", query)
}

func (r ContactFields) List(query url.Values) *Pages {
	return r.list("GET /contact-fields", query)
}

func (r Contacts) List(query url.Values) *Pages {
	return r.list("GET /contacts", query)
}
func (r Contacts) Create(ctx context.Context, body any, options ...Option) (*Response, error) {
	return r.one(ctx, "POST /contacts", body, options)
}
func (r Contacts) Upsert(ctx context.Context, body any, options ...Option) (*Response, error) {
	return r.one(ctx, "POST /contacts/upsert", body, options)
}
func (r Contacts) Get(ctx context.Context, contactID string) (*Response, error) {
	return r.one(ctx, "GET /contacts/{contact_id}", nil, nil, contactID)
}
func (r Contacts) Update(ctx context.Context, contactID string, body any, options ...Option) (*Response, error) {
	return r.one(ctx, "PATCH /contacts/{contact_id}", body, options, contactID)
}
func (r Contacts) AddNote(ctx context.Context, contactID string, body any, options ...Option) (*Response, error) {
	return r.one(ctx, "POST /contacts/{contact_id}/notes", body, options, contactID)
}

func (r Conversations) List(query url.Values) *Pages {
	return r.list("GET /conversations", query)
}
func (r Conversations) Start(ctx context.Context, body any, options ...Option) (*Response, error) {
	return r.one(ctx, "POST /conversations", body, options)
}
func (r Conversations) Get(ctx context.Context, conversationID string) (*Response, error) {
	return r.one(ctx, "GET /conversations/{conversation_id}", nil, nil, conversationID)
}
func (r Conversations) Assign(ctx context.Context, conversationID string, body any, options ...Option) (*Response, error) {
	return r.one(ctx, "PATCH /conversations/{conversation_id}/assignment", body, options, conversationID)
}
func (r Conversations) Close(ctx context.Context, conversationID string, body any, options ...Option) (*Response, error) {
	return r.one(ctx, "POST /conversations/{conversation_id}/close", body, options, conversationID)
}
func (r Conversations) Reopen(ctx context.Context, conversationID string, options ...Option) (*Response, error) {
	return r.one(ctx, "POST /conversations/{conversation_id}/reopen", nil, options, conversationID)
}

func (r Events) List(query url.Values) *Pages {
	return r.list("GET /events", query)
}
func (r Events) Get(ctx context.Context, eventID string) (*Response, error) {
	return r.one(ctx, "GET /events/{event_id}", nil, nil, eventID)
}

func (r Members) List(query url.Values) *Pages {
	return r.list("GET /members", query)
}

func (r Messages) List(conversationID string, query url.Values) *Pages {
	return r.list("GET /conversations/{conversation_id}/messages", query, conversationID)
}
func (r Messages) Get(ctx context.Context, conversationID, messageID string) (*Response, error) {
	return r.one(ctx, "GET /conversations/{conversation_id}/messages/{message_id}", nil, nil, conversationID, messageID)
}
func (r Messages) Send(ctx context.Context, conversationID string, body any, options ...Option) (*Response, error) {
	return r.one(ctx, "POST /conversations/{conversation_id}/messages", body, options, conversationID)
}

func (r Sends) List(query url.Values) *Pages {
	return r.list("GET /sends", query)
}
func (r Sends) Get(ctx context.Context, sendID string) (*Response, error) {
	return r.one(ctx, "GET /sends/{send_id}", nil, nil, sendID)
}

func (r Tags) List(query url.Values) *Pages {
	return r.list("GET /tags", query)
}
func (r Tags) Create(ctx context.Context, body any, options ...Option) (*Response, error) {
	return r.one(ctx, "POST /tags", body, options)
}

func (r Templates) List(query url.Values) *Pages {
	return r.list("GET /templates", query)
}

func (r Webhooks) List(query url.Values) *Pages {
	return r.list("GET /webhooks", query)
}
func (r Webhooks) Create(ctx context.Context, body any, options ...Option) (*Response, error) {
	return r.one(ctx, "POST /webhooks", body, options)
}
func (r Webhooks) Get(ctx context.Context, webhookID string) (*Response, error) {
	return r.one(ctx, "GET /webhooks/{webhook_id}", nil, nil, webhookID)
}
func (r Webhooks) Update(ctx context.Context, webhookID string, body any, options ...Option) (*Response, error) {
	return r.one(ctx, "PATCH /webhooks/{webhook_id}", body, options, webhookID)
}
func (r Webhooks) RotateSecret(ctx context.Context, webhookID string, options ...Option) (*Response, error) {
	return r.one(ctx, "POST /webhooks/{webhook_id}/rotate_secret", nil, options, webhookID)
}
func (r Webhooks) Disable(ctx context.Context, webhookID string, options ...Option) (*Response, error) {
	return r.one(ctx, "DELETE /webhooks/{webhook_id}", nil, options, webhookID)
}
func (r Webhooks) Deliveries(webhookID string) *Pages {
	return r.list("GET /webhooks/{webhook_id}/deliveries", nil, webhookID)
}
func (r Webhooks) Test(ctx context.Context, webhookID string, options ...Option) (*Response, error) {
	return r.one(ctx, "POST /webhooks/{webhook_id}/test", nil, options, webhookID)
}
func (r Webhooks) Replay(ctx context.Context, webhookID string, body any, options ...Option) (*Response, error) {
	return r.one(ctx, "POST /webhooks/{webhook_id}/replay", body, options, webhookID)
}
func (r Webhooks) Retry(ctx context.Context, webhookID, deliveryID string, options ...Option) (*Response, error) {
	return r.one(ctx, "POST /webhooks/{webhook_id}/deliveries/{delivery_id}/retry", nil, options, webhookID, deliveryID)
}
