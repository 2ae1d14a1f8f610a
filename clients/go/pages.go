package messagingcrm

import (
	"context"
	"fmt"
	"math/rand"
	"net/url"
	"time"
)

type resource struct{ client *Client }

// one calls an operation that returns one resource. The values are those of the path, in order.
func (r resource) one(ctx context.Context, operation string, body any, options []Option, values ...string) (*Response, error) {
	response, err := r.client.Request(ctx, operation, Input{Path: pathOf(operation, values), Body: body}, options...)
	if err != nil {
		return nil, err
	}
	response.Data, _ = response.Data["data"].(Data)
	return response, nil
}

func (r resource) list(operation string, query url.Values, values ...string) *Pages {
	return &Pages{client: r.client, operation: operation, path: pathOf(operation, values), query: query}
}

func pathOf(operation string, values []string) map[string]string {
	path := map[string]string{}
	for index, name := range parameter.FindAllStringSubmatch(operation, -1) {
		path[name[1]] = values[index]
	}
	return path
}

// Pages are the pages of a list, read one after another.
type Pages struct {
	client    *Client
	operation string
	path      map[string]string
	query     url.Values
	cursor    string
	isDone    bool
}

// Next reads the next page: its items and its response. After the last page, the response is nil.
func (pages *Pages) Next(ctx context.Context) ([]Data, *Response, error) {
	if pages.isDone {
		return nil, nil, nil
	}
	query := url.Values{}
	for name, values := range pages.query {
		query[name] = values
	}
	if pages.cursor != "" {
		query.Set("cursor", pages.cursor)
	}
	response, err := pages.client.Request(ctx, pages.operation, Input{Path: pages.path, Query: query})
	if err != nil {
		return nil, nil, err
	}
	pages.cursor, _ = response.Data["next_cursor"].(string)
	pages.isDone = pages.cursor == ""
	return itemsOf(response), response, nil
}

// itemsOf returns the items of a page.
func itemsOf(response *Response) []Data {
	values, _ := response.Data["data"].([]any)
	items := make([]Data, 0, len(values))
	for _, value := range values {
		item, _ := value.(Data)
		items = append(items, item)
	}
	return items
}

// All reads all pages.
func (pages *Pages) All(ctx context.Context) ([]Data, error) {
	all := []Data{}
	for {
		items, response, err := pages.Next(ctx)
		if err != nil || response == nil {
			return all, err
		}
		all = append(all, items...)
	}
}

// WaitFor polls a send, at growing intervals, until it is sent or failed, or the context ends.
func (r Sends) WaitFor(ctx context.Context, sendID string) (*Response, error) {
	for pause := 250 * time.Millisecond; ; pause *= 2 {
		send, err := r.Get(ctx, sendID)
		if err != nil || send.Data["status"] == "sent" || send.Data["status"] == "failed" {
			return send, err
		}
		if pause > 5*time.Second {
			pause = 5 * time.Second
		}
		if err := r.client.sleep(ctx, time.Duration(float64(pause)*(1+rand.Float64())/2)); err != nil {
			return nil, fmt.Errorf("messagingcrm: the send is still %v: %w", send.Data["status"], err)
		}
	}
}
