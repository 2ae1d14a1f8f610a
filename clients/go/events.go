package messagingcrm

import (
	"context"
	"math"
	"math/rand"
	"net/url"
	"time"
)

// followed is the time limit of one attempt to read followed events: the service waits for up to 30 s.
const followed = time.Minute

// FollowedEvents are events in the order of commits, without an end.
type FollowedEvents struct {
	// Cursor continues after the events that Next returned last. Store it with their effects.
	Cursor string
	client *Client
	query  url.Values
}

// Follow follows events after a stored cursor, from "start", or from "now". The query can have a type and a page_size.
func (r Events) Follow(after string, query url.Values) *FollowedEvents {
	client, transport := *r.client, *r.client.HTTP
	if transport.Timeout > 0 && transport.Timeout < followed {
		transport.Timeout = followed
	}
	client.HTTP, client.MaxRetries = &transport, math.MaxInt
	return &FollowedEvents{after, &client, query}
}

// Next waits for the next events. It retries a failed request until one succeeds, or the context ends.
func (events *FollowedEvents) Next(ctx context.Context) ([]Data, error) {
	for {
		// A repeated request after "now" would skip events, so it gets its cursor at once.
		started, isStart := time.Now(), events.Cursor == "now"
		page, err := events.page(ctx, isStart)
		if err != nil || len(page) > 0 {
			return page, err
		}
		// A process that stops does not wait.
		if !isStart && time.Since(started) < time.Second {
			if err := events.client.sleep(ctx, time.Duration((1+rand.Float64())/2*float64(time.Second))); err != nil {
				return nil, err
			}
		}
	}
}

func (events *FollowedEvents) page(ctx context.Context, isStart bool) ([]Data, error) {
	query := url.Values{"after": {events.Cursor}, "wait": {"30"}}
	if isStart {
		query.Set("wait", "0")
	}
	for name, values := range events.query {
		query[name] = values
	}
	response, err := events.client.Request(ctx, "GET /events", Input{Query: query})
	if err != nil {
		return nil, err
	}
	if cursor, _ := response.Data["next_cursor"].(string); cursor != "" {
		events.Cursor = cursor
	}
	return itemsOf(response), nil
}
