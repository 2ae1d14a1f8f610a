// Package messagingcrm is a small client of the Messaging CRM API, without dependencies. README.md describes it.
package messagingcrm

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	mathrand "math/rand"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Version is the version of the API for which this client was released.
const Version = "1.0.0"

// Data is a JSON object of a request or response. Response.Decode reads one into a struct of your own instead.
type Data = map[string]any

// Response is a response, whose Data is the resource or, of Client.Request, the whole body.
type Response struct {
	Data       Data
	Status     int
	RequestID  string
	IsReplayed bool
	ETag       string
	Header     http.Header
}

// Decode reads Data into a struct of your own.
func (response *Response) Decode(into any) error {
	text, err := json.Marshal(response.Data)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// Error is a rejection or a failure of the service. A response from elsewhere has the code unexpected_response.
type Error struct {
	Code, Message string
	// Param is the parameter or field at fault, or empty.
	Param, RequestID string
	Status           int
	// RetryAfter is negative without the header.
	RetryAfter time.Duration
}

func (err *Error) Error() string { return err.Message }

// NoResponseError reports that no response arrived. A write can have taken effect; repeat it with the same idempotency key.
type NoResponseError struct {
	RequestID string
	Cause     error
}

func (err *NoResponseError) Error() string { return "messagingcrm: no response: " + err.Cause.Error() }
func (err *NoResponseError) Unwrap() error { return err.Cause }

// Client calls the API. Copy it to change its settings for some calls.
type Client struct {
	// MaxRetries is 3 after New.
	MaxRetries int
	// HTTP has a time limit of 30 s for each attempt after New, and follows no redirects.
	HTTP            *http.Client
	apiKey, baseURL string
	sleep           func(context.Context, time.Duration) error
}

// New returns a client. The base URL contains the version, such as https://crm.example.com/v1.
func New(apiKey, baseURL string) (*Client, error) {
	if !regexp.MustCompile(`^[\x21-\x7e]+$`).MatchString(apiKey) {
		return nil, errors.New("messagingcrm: apiKey must be an API key such as svc_live_…, without white space")
	}
	if !regexp.MustCompile(`^https?://[^/@?#\s]+(/[^?#\s]*)?$`).MatchString(baseURL) {
		return nil, errors.New("messagingcrm: baseURL must be an http or https URL such as https://crm.example.com/v1")
	}
	// A redirect would turn a write into a read, and send the API key to another address.
	stop := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client := &http.Client{Timeout: 30 * time.Second, CheckRedirect: stop}
	return &Client{3, client, apiKey, strings.TrimRight(baseURL, "/"), sleep}, nil
}

// Input is the input of an operation. The Body is encoded as JSON unless it is nil.
type Input struct {
	Path  map[string]string
	Query url.Values
	Body  any
}

// Option changes one call.
type Option func(http.Header)

// IdempotencyKey sets the key of a write. By default, each call has a new one, which its retries repeat.
func IdempotencyKey(key string) Option {
	return func(header http.Header) { header.Set("Idempotency-Key", key) }
}

// IfMatch makes a change of a contact fail if it has changed since you read it with this ETag.
func IfMatch(etag string) Option { return func(header http.Header) { header.Set("If-Match", etag) } }

var parameter = regexp.MustCompile(`\{(\w+)\}`)

// Request calls any operation, such as "GET /contacts/{contact_id}", and returns the whole body of its response.
func (client *Client) Request(ctx context.Context, operation string, input Input, options ...Option) (*Response, error) {
	method, path, _ := strings.Cut(operation, " ")
	for _, name := range parameter.FindAllStringSubmatch(path, -1) {
		if input.Path[name[1]] == "" {
			return nil, fmt.Errorf("messagingcrm: %s needs a value for %s", operation, name[1])
		}
		path = strings.ReplaceAll(path, name[0], url.PathEscape(input.Path[name[1]]))
	}
	if len(input.Query) > 0 {
		path += "?" + input.Query.Encode()
	}
	header := http.Header{"Authorization": {"Bearer " + client.apiKey}, "User-Agent": {"messaging-crm-go/" + Version}}
	if method != http.MethodGet {
		header.Set("Idempotency-Key", newID())
	}
	var body []byte
	if input.Body != nil {
		var err error
		if body, err = json.Marshal(input.Body); err != nil {
			return nil, err
		}
		header.Set("Content-Type", "application/json")
	}
	for _, option := range options {
		option(header)
	}
	for attempts := 1; ; attempts++ {
		header.Set("X-Request-Id", newID())
		response, err := client.attempt(ctx, method, client.baseURL+path, header, body)
		pause := pauseAfter(err, attempts)
		if pause < 0 || attempts > client.MaxRetries {
			return response, err
		}
		if err := client.sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

func (client *Client) attempt(
	ctx context.Context, method, address string, header http.Header, body []byte,
) (*Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = header.Clone()
	response, err := client.HTTP.Do(request)
	var text []byte
	if err == nil {
		text, err = io.ReadAll(response.Body)
		response.Body.Close()
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		// The error of http contains the query, which can contain personal data.
		var cause *url.Error
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return nil, &NoResponseError{header.Get("X-Request-Id"), err}
	}
	requestID := response.Header.Get("X-Request-Id")
	if requestID == "" {
		requestID = header.Get("X-Request-Id")
	}
	_, isReplayed := response.Header["Idempotent-Replayed"]
	var data Data
	_ = json.Unmarshal(text, &data)
	if isBody(data["data"]) && response.StatusCode/100 == 2 {
		return &Response{data, response.StatusCode, requestID, isReplayed, response.Header.Get("Etag"), response.Header}, nil
	}
	rejection := &Error{Status: response.StatusCode, RequestID: requestID, RetryAfter: retryAfter(response.Header)}
	given, _ := data["error"].(Data)
	rejection.Code, _ = given["code"].(string)
	rejection.Message, _ = given["message"].(string)
	rejection.Param, _ = given["param"].(string)
	if rejection.Code == "" || response.StatusCode < 400 {
		rejection.Code = "unexpected_response"
		rejection.Message = fmt.Sprintf("The response (status %d) is not from the API. Check the base URL.", rejection.Status)
	}
	return nil, rejection
}

func isBody(data any) bool {
	switch data.(type) {
	case Data, []any:
		return true
	}
	return false
}

func retryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return -1
	}
	return time.Duration(math.Max(0, float64(time.Until(date))))
}

// pauseAfter returns the pause after this number of attempts, negative after a success or an error that must not be retried.
func pauseAfter(err error, attempts int) time.Duration {
	longest := math.Min(0.5*math.Pow(2, float64(attempts-1)), 8) * float64(time.Second)
	backoff := time.Duration(longest * (1 + mathrand.Float64()) / 2)
	var rejection *Error
	var silence *NoResponseError
	if errors.As(err, &silence) {
		return backoff
	}
	if !errors.As(err, &rejection) || rejection.RetryAfter > time.Minute {
		return -1
	}
	switch rejection.Status {
	case 409:
		if rejection.RetryAfter < 0 {
			return -1
		}
	case 408, 429, 500, 502, 503, 504:
	default:
		return -1
	}
	if rejection.RetryAfter > 0 {
		return backoff + rejection.RetryAfter
	}
	return backoff
}

func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func newID() string {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		panic(err)
	}
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
