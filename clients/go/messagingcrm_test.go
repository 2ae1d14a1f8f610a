package messagingcrm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The tests call a running service, whose address and key `npm start` writes to .data/env.
var apiKey, baseURL = os.Getenv("API_KEY"), os.Getenv("BASE_URL")

var ctx = context.Background()

// connect returns a client that records its pauses instead of waiting.
func connect(t *testing.T, address string) (*Client, *[]time.Duration) {
	t.Helper()
	crm, err := New(apiKey, address)
	if err != nil {
		t.Fatal(err)
	}
	pauses := []time.Duration{}
	crm.sleep = func(_ context.Context, pause time.Duration) error {
		pauses = append(pauses, pause)
		return nil
	}
	return crm, &pauses
}

type fault struct {
	status        int
	header        map[string]string
	body          string
	losesResponse bool
}

func rejection(status int, code string, header map[string]string) fault {
	return fault{status: status, header: header, body: `{"error":{"code":"` + code + `","message":"No.","param":null}}`}
}

// raised creates contacts, and returns their IDs.
func raised(t *testing.T, crm *Client, count int) []string {
	t.Helper()
	made := []string{}
	for len(made) < count {
		made = append(made, must(crm.Contacts().Create(ctx, Data{"first_name": "F"}))(t).Data["id"].(string))
	}
	return made
}

// taken returns the contacts of the next events, at least as many as the count.
func taken(t *testing.T, events *FollowedEvents, count int) []string {
	t.Helper()
	found := []string{}
	for len(found) < count {
		for _, event := range must(events.Next(ctx))(t) {
			found = append(found, event["data"].(Data)["contact_id"].(string))
		}
	}
	return found
}

// now returns a follower of the contacts that are created from now on.
func now(t *testing.T, crm *Client) *FollowedEvents {
	t.Helper()
	events := crm.Events().Follow("now", url.Values{"type": {"contact.created"}, "page_size": {"2"}})
	must(events.page(ctx, true))(t)
	return events
}

type received struct {
	method, path, key string
}

// proxy forwards requests to the service, after the faults of a script, one for each request.
func proxy(t *testing.T, script ...fault) (string, *[]received) {
	t.Helper()
	var mutex sync.Mutex
	requests := []received{}
	service, err := url.Parse(baseURL)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		body, _ := io.ReadAll(request.Body)
		requests = append(requests, received{request.Method, request.URL.Path, request.Header.Get("Idempotency-Key")})
		next := fault{}
		if len(requests) <= len(script) {
			next = script[len(requests)-1]
		}
		if next.status == 0 {
			forwarded, _ := http.NewRequest(request.Method, service.Scheme+"://"+service.Host+request.URL.RequestURI(), bytes.NewReader(body))
			forwarded.Header = request.Header.Clone()
			forwarded.Header.Del("Accept-Encoding")
			answer, err := http.DefaultTransport.RoundTrip(forwarded)
			if err != nil {
				t.Error(err)
				return
			}
			defer answer.Body.Close()
			text, _ := io.ReadAll(answer.Body)
			if next.losesResponse {
				panic(http.ErrAbortHandler)
			}
			for name, values := range answer.Header {
				response.Header()[name] = values
			}
			response.WriteHeader(answer.StatusCode)
			_, _ = response.Write(text)
			return
		}
		for name, value := range next.header {
			response.Header().Set(name, value)
		}
		response.WriteHeader(next.status)
		_, _ = io.WriteString(response, next.body)
	}))
	t.Cleanup(server.Close)
	return server.URL + service.Path, &requests
}

func codeOf(t *testing.T, err error) string {
	t.Helper()
	var rejection *Error
	if !errors.As(err, &rejection) {
		t.Fatalf("%v is no Error", err)
	}
	return rejection.Code
}

func must[A any](value A, err error) func(*testing.T) A {
	return func(t *testing.T) A {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func equal(t *testing.T, actual, expected any) {
	t.Helper()
	if !reflect.DeepEqual(actual, expected) {
		t.Fatalf("%v is not %v", actual, expected)
	}
}

func TestAContactIsCreatedReadChangedAndFound(t *testing.T) {
	crm, _ := connect(t, baseURL)
	email := newID() + "@example.com"
	kim := must(crm.Contacts().Create(ctx, Data{"first_name": "Kim ß", "primary_email": email}))(t)
	equal(t, kim.Status, 201)
	var contact struct {
		ID        string `json:"id"`
		FirstName string `json:"first_name"`
	}
	read := must(crm.Contacts().Get(ctx, kim.Data["id"].(string)))(t)
	if err := read.Decode(&contact); err != nil {
		t.Fatal(err)
	}
	equal(t, contact.FirstName, "Kim ß")
	must(crm.Contacts().Update(ctx, contact.ID, Data{"last_name": "Doe"}, IfMatch(read.ETag)))(t)
	_, err := crm.Contacts().Update(ctx, contact.ID, Data{"last_name": "Roe"}, IfMatch(read.ETag))
	equal(t, codeOf(t, err), "precondition_failed")
	found := must(crm.Contacts().List(url.Values{"email": {email}}).All(ctx))(t)
	equal(t, len(found), 1)
	equal(t, found[0]["last_name"], "Doe")
}

func TestAListReadsEveryPage(t *testing.T) {
	crm, _ := connect(t, baseURL)
	tag := must(crm.Tags().Create(ctx, Data{"name": "Pages " + newID()[:8], "color": "amber"}))(t)
	made := []string{}
	for range [5]int{} {
		contact := must(crm.Contacts().Create(ctx, Data{"first_name": "P", "tag_ids": []any{tag.Data["id"]}}))(t)
		made = append(made, contact.Data["id"].(string))
	}
	pages := crm.Contacts().List(url.Values{"tag_id": {tag.Data["id"].(string)}, "page_size": {"2"}})
	sizes, found := []int{}, []string{}
	for {
		items, response, err := pages.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if response == nil {
			break
		}
		sizes = append(sizes, len(items))
		for _, item := range items {
			found = append(found, item["id"].(string))
		}
	}
	sort.Strings(found)
	sort.Strings(made)
	equal(t, sizes, []int{2, 2, 1})
	equal(t, found, made)
}

func TestASendIsAwaited(t *testing.T) {
	crm := must(New(apiKey, baseURL))(t)
	channel := ""
	for _, each := range must(crm.Channels().List(nil).All(ctx))(t) {
		if each["type"] == "phone_messaging" {
			channel = each["id"].(string)
		}
	}
	texts := []Data{}
	for name, text := range map[string]string{"first_name": "Kim", "day": "Monday", "time": "10:00"} {
		texts = append(texts, Data{"type": "text", "parameter_name": name, "text": text})
	}
	template := Data{"id": "demo.appointment_reminder", "components": []Data{{"type": "body", "parameters": texts}}}
	send := must(crm.Conversations().Start(ctx, Data{"channel_id": channel, "phone": "+4915112345678", "template": template}))(t)
	equal(t, must(crm.Sends().WaitFor(ctx, send.Data["id"].(string)))(t).Data["status"], "sent")
	late, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := crm.Sends().WaitFor(late, "1"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestEveryOperationOfTheDocumentHasAMethod(t *testing.T) {
	script := []fault{}
	for range [40]int{} {
		script = append(script, rejection(400, "invalid_parameter", nil))
	}
	address, requests := proxy(t, script...)
	crm, _ := connect(t, address)
	client := reflect.ValueOf(crm)
	for index := 0; index < client.NumMethod(); index++ {
		if client.Type().Method(index).Type.NumIn() != 1 {
			continue
		}
		resource := client.Method(index).Call(nil)[0]
		for each := 0; each < resource.NumMethod(); each++ {
			call, arguments := resource.Method(each), []reflect.Value{}
			if resource.Type().Method(each).Name == "WaitFor" {
				continue
			}
			for at := 0; at < call.Type().NumIn(); at++ {
				switch kind := call.Type().In(at); {
				case kind == reflect.TypeOf((*context.Context)(nil)).Elem():
					arguments = append(arguments, reflect.ValueOf(ctx))
				case kind.Kind() == reflect.String:
					arguments = append(arguments, reflect.ValueOf("{}"))
				case call.Type().IsVariadic() && at == call.Type().NumIn()-1:
				default:
					arguments = append(arguments, reflect.Zero(kind))
				}
			}
			result := call.Call(arguments)
			if pages, ok := result[0].Interface().(*Pages); ok {
				_, _, _ = pages.Next(ctx)
			}
		}
	}
	sent, documented := map[string]bool{}, map[string]bool{}
	for _, each := range *requests {
		sent[each.method+" "+strings.TrimPrefix(each.path, "/v1")] = true
	}
	var document struct {
		Info  struct{ Version string }
		Paths map[string]map[string]any
	}
	text := must(os.ReadFile("../../packages/adapter-http/openapi.json"))(t)
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	for path, methods := range document.Paths {
		for method := range methods {
			documented[strings.ToUpper(method)+" "+regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, "{}")] = true
		}
	}
	equal(t, sent, documented)
	equal(t, len(*requests), len(documented))
	equal(t, Version, document.Info.Version)
}

func TestAnErrorHasItsCodeMessageParameterAndRequestID(t *testing.T) {
	crm, pauses := connect(t, baseURL)
	_, err := crm.Contacts().Create(ctx, Data{"primary_email": "kim@"})
	var rejection *Error
	if !errors.As(err, &rejection) || rejection.Status != 400 || rejection.Param != "primary_email" {
		t.Fatal(err)
	}
	if !strings.Contains(rejection.Message, "primary_email") || len(rejection.RequestID) != 36 || len(*pauses) != 0 {
		t.Fatal(rejection)
	}
}

func TestAResponseFromElsewhereIsUnexpected(t *testing.T) {
	for _, each := range []fault{
		{status: 200, body: "<html>"}, {status: 302, header: map[string]string{"Location": baseURL}},
		{status: 200, body: "{}"}, {status: 404, body: "[]"}, {status: 200, body: `{"data":1}`},
	} {
		address, requests := proxy(t, each)
		crm, _ := connect(t, address)
		_, _, err := crm.Tags().List(nil).Next(ctx)
		equal(t, codeOf(t, err), "unexpected_response")
		equal(t, len(*requests), 1)
	}
}

func TestNoErrorContainsTheKeyOrTheQuery(t *testing.T) {
	crm, _ := connect(t, "http://127.0.0.1:1/v1")
	_, _, err := crm.Contacts().List(url.Values{"query": {"Kim"}}).Next(ctx)
	var silence *NoResponseError
	if !errors.As(err, &silence) || strings.Contains(err.Error(), "Kim") || strings.Contains(err.Error(), apiKey) {
		t.Fatal(err)
	}
}

func TestSettingsAndArgumentsAreChecked(t *testing.T) {
	for _, each := range [][2]string{{"a b", baseURL}, {"", baseURL}, {apiKey, "ftp://x"}, {apiKey, "https://a@b/v1"}} {
		if _, err := New(each[0], each[1]); err == nil {
			t.Fatal(each)
		}
	}
	crm, _ := connect(t, baseURL)
	if _, err := crm.Contacts().Get(ctx, ""); err == nil {
		t.Fatal("an empty ID was accepted")
	}
	if _, err := crm.Tags().Create(ctx, Data{"name": "x"}, IdempotencyKey("a\nb")); err == nil {
		t.Fatal("a line break was accepted")
	}
}

func TestAWriteWhoseResponseIsLostHasOneEffect(t *testing.T) {
	address, requests := proxy(t, fault{losesResponse: true}, rejection(503, "unavailable", nil), fault{status: 502, body: "<html>"})
	crm, pauses := connect(t, address)
	// Go itself repeats a request with an idempotency key on a connection that it used before.
	crm.HTTP.Transport = &http.Transport{DisableKeepAlives: true}
	email := newID() + "@example.com"
	kim := must(crm.Contacts().Create(ctx, Data{"primary_email": email}))(t)
	equal(t, kim.IsReplayed, true)
	found := must(crm.Contacts().List(url.Values{"email": {email}}).All(ctx))(t)
	equal(t, []any{len(found), found[0]["id"]}, []any{1, kim.Data["id"]})
	keys := map[string]bool{}
	for _, each := range (*requests)[:4] {
		keys[each.key] = true
	}
	equal(t, len(keys), 1)
	equal(t, len(*pauses), 3)
	for index, pause := range *pauses {
		longest := 500 * time.Millisecond << index
		if pause < longest/2 || pause > longest {
			t.Fatal(*pauses)
		}
	}
}

func TestAGivenIdempotencyKeyReplaysTheResponse(t *testing.T) {
	crm, _ := connect(t, baseURL)
	key := IdempotencyKey(newID())
	one := must(crm.Contacts().Create(ctx, Data{"first_name": "Kim"}, key))(t)
	two := must(crm.Contacts().Create(ctx, Data{"first_name": "Kim"}, key))(t)
	equal(t, one.Data, two.Data)
	equal(t, []bool{one.IsReplayed, two.IsReplayed}, []bool{false, true})
}

func TestRetryAfterIsAddedToTheBackoff(t *testing.T) {
	late := time.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat)
	address, _ := proxy(
		t, rejection(429, "rate_limited", map[string]string{"Retry-After": "7"}),
		rejection(429, "rate_limited", map[string]string{"Retry-After": late}),
		rejection(409, "request_processing", map[string]string{"Retry-After": "1"}),
	)
	crm, pauses := connect(t, address)
	must(crm.Tags().List(nil).All(ctx))(t)
	limits := [][2]time.Duration{{7 * time.Second, 8 * time.Second}, {20 * time.Second, 31 * time.Second}, {2 * time.Second, 3 * time.Second}}
	for index, limit := range limits {
		if pause := (*pauses)[index]; pause < limit[0] || pause > limit[1] {
			t.Fatal(*pauses)
		}
	}
}

func TestNoRetryOfWhatARetryCannotCorrect(t *testing.T) {
	for _, each := range []fault{
		rejection(429, "rate_limited", map[string]string{"Retry-After": "61"}),
		rejection(409, "conflict", nil), rejection(404, "not_found", nil),
	} {
		address, requests := proxy(t, each)
		crm, _ := connect(t, address)
		if _, err := crm.Tags().List(nil).All(ctx); err == nil || len(*requests) != 1 {
			t.Fatal(err, *requests)
		}
	}
	address, requests := proxy(t, rejection(500, "x", nil), rejection(500, "x", nil), rejection(500, "x", nil))
	crm, _ := connect(t, address)
	crm.MaxRetries = 2
	_, err := crm.Tags().List(nil).All(ctx)
	equal(t, codeOf(t, err), "x")
	equal(t, len(*requests), 3)
}

func TestEventsAreFollowedInOrderAndFromAStoredCursor(t *testing.T) {
	crm, _ := connect(t, baseURL)
	events := now(t, crm)
	made := raised(t, crm, 4)
	equal(t, taken(t, events, 2), made[:2])
	// Another process continues.
	resumed := crm.Events().Follow(events.Cursor, url.Values{"type": {"contact.created"}})
	equal(t, taken(t, resumed, 2), made[2:])
	event := must(events.Next(ctx))(t)[0]
	equal(t, must(crm.Events().Get(ctx, event["id"].(string)))(t).Data, event)
}

func TestAnEventThatIsCommittedWhileTheLoopWaitsIsFollowed(t *testing.T) {
	crm, _ := connect(t, baseURL)
	events := now(t, crm)
	made := make(chan []string, 1)
	go func() { made <- raised(t, crm, 1) }()
	equal(t, taken(t, events, 1), <-made)
	late, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if _, err := events.Next(late); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

func TestALoopSurvivesRestartsAndFailuresOfTheService(t *testing.T) {
	crm, _ := connect(t, baseURL)
	events := now(t, crm)
	made := raised(t, crm, 3)
	late := rejection(429, "rate_limited", map[string]string{"Retry-After": "5"})
	address, _ := proxy(t, rejection(503, "unavailable", nil), late, fault{losesResponse: true})
	follower, pauses := connect(t, "http://127.0.0.1:1/v1")
	loop := follower.Events().Follow(events.Cursor, events.query)
	record := loop.client.sleep
	loop.client.sleep = func(ctx context.Context, pause time.Duration) error {
		if len(*pauses) == 4 {
			loop.client.baseURL = address
		}
		return record(ctx, pause)
	}
	equal(t, taken(t, loop, 3), made)
	// Go itself repeats the request whose response was lost.
	if len(*pauses) < 7 {
		t.Fatal(*pauses)
	}
}

func TestAnErrorThatARetryCannotCorrectEndsTheLoop(t *testing.T) {
	crm, _ := connect(t, baseURL)
	_, err := crm.Events().Follow("yesterday", nil).Next(ctx)
	equal(t, codeOf(t, err), "invalid_input")
}

const secret = "whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="

func TestARequestOfTheServiceIsVerified(t *testing.T) {
	crm, _ := connect(t, baseURL)
	type request struct {
		body   []byte
		header http.Header
	}
	arrived := make(chan request, 10)
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, each *http.Request) {
		body, _ := io.ReadAll(each.Body)
		response.WriteHeader(204)
		arrived <- request{body, each.Header}
	}))
	defer server.Close()
	webhook := must(crm.Webhooks().Create(ctx, Data{"url": server.URL, "event_types": []string{"message.received"}}))(t)
	must(crm.Webhooks().Test(ctx, webhook.Data["id"].(string)))(t)
	given := <-arrived
	must(crm.Webhooks().Disable(ctx, webhook.Data["id"].(string)))(t)
	own := webhook.Data["signing_secret"].(string)
	equal(t, must(VerifyWebhook(given.body, given.header, Tolerance, secret, own))(t)["type"], "webhook.test")
	equal(t, reason(VerifyWebhook(append(given.body, ' '), given.header, Tolerance, own)), "wrong_signature")
	equal(t, reason(VerifyWebhook(given.body, given.header, Tolerance, secret)), "wrong_signature")
	equal(t, reason(VerifyWebhook(given.body, given.header, Tolerance)), "wrong_signature")
	equal(t, reason(VerifyWebhook(given.body, given.header, Tolerance, "whsec_%")), "wrong_secret_format")
	equal(t, reason(VerifyWebhook(given.body, given.header, Tolerance, "")), "wrong_secret_format")
}

func reason(_ Data, err error) string {
	var rejection *WebhookError
	if errors.As(err, &rejection) {
		return rejection.Reason
	}
	return ""
}

func signed(timestamp, signature string) http.Header {
	header := http.Header{}
	header.Set("webhook-id", "e1")
	header.Set("webhook-timestamp", timestamp)
	header.Set("webhook-signature", signature)
	return header
}

func TestARequestWithoutAValidSignatureIsRejected(t *testing.T) {
	now := time.Now().Unix()
	at := func(seconds int64) http.Header {
		return signed(strconv.FormatInt(now+seconds, 10), "v1,AAAA v1a,x v1,ü")
	}
	equal(t, reason(VerifyWebhook([]byte("{}"), at(-400), Tolerance, secret)), "too_old")
	equal(t, reason(VerifyWebhook([]byte("{}"), at(400), Tolerance, secret)), "too_new")
	equal(t, reason(VerifyWebhook([]byte("{}"), at(-40), 20*time.Second, secret)), "too_old")
	equal(t, reason(VerifyWebhook([]byte("{}"), at(0), Tolerance, secret)), "wrong_signature")
	for _, timestamp := range []string{"now", " 1", "+1", "1.0", "-1", "1_0"} {
		equal(t, reason(VerifyWebhook([]byte("{}"), signed(timestamp, "v1,A"), Tolerance, secret)), "malformed_timestamp")
	}
	for name := range at(0) {
		header := at(0)
		header.Del(name)
		equal(t, reason(VerifyWebhook([]byte("{}"), header, Tolerance, secret)), "missing_header")
	}
}

func TestAKnownSignatureIsAcceptedOnlyWithAJSONObject(t *testing.T) {
	// The signatures that the library of Standard Webhooks computes for these bodies.
	for body, each := range map[string][2]string{
		`{"id":"e1"}`: {"v1,qxpk89u1yRnKiYz63y0zl18X97/j3G3QAXpNJCFcpbU=", ""},
		"[]":          {"v1,d9FzH95gb4Xi450Iwqr1AWQ4WsOUwo/1NUg2mNbvk2w=", "not_json"},
		"no":          {"v1,aNoUwCYpDo+j+o3aJjbylkc8KxWPyec0B5ZSVzdC4Gs=", "not_json"},
	} {
		equal(t, reason(VerifyWebhook([]byte(body), signed("1750000000", each[0]), 100*365*24*time.Hour, secret)), each[1])
	}
}
