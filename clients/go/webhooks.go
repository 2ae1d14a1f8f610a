package messagingcrm

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// WebhookError reports a webhook request without a valid signature, or an old one. Reason is that of the TypeScript client.
type WebhookError struct{ Reason string }

func (err *WebhookError) Error() string {
	return "messagingcrm: webhook request rejected: " + err.Reason
}

// Tolerance is the usual maximum age of a signature.
const Tolerance = 5 * time.Minute

var digits = regexp.MustCompile(`^[0-9]{1,15}$`)

// VerifyWebhook verifies a request by its raw body and returns the event. One valid pair of secret and signature is enough.
func VerifyWebhook(body []byte, header http.Header, tolerance time.Duration, secrets ...string) (Data, error) {
	for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
		if header.Get(name) == "" {
			return nil, &WebhookError{"missing_header"}
		}
	}
	timestamp := header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || !digits.MatchString(timestamp) {
		return nil, &WebhookError{"malformed_timestamp"}
	}
	limit := int64(tolerance / time.Second)
	if age := time.Now().Unix() - seconds; age > limit {
		return nil, &WebhookError{"too_old"}
	} else if age < -limit {
		return nil, &WebhookError{"too_new"}
	}
	isValid := false
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil || len(key) == 0 {
			return nil, &WebhookError{"wrong_secret_format"}
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(header.Get("webhook-id") + "." + timestamp + "."))
		mac.Write(body)
		expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		for _, signature := range strings.Split(header.Get("webhook-signature"), " ") {
			// In constant time.
			isValid = hmac.Equal([]byte(signature), expected) || isValid
		}
	}
	if !isValid {
		return nil, &WebhookError{"wrong_signature"}
	}
	var event Data
	if err := json.Unmarshal(body, &event); err != nil || event == nil {
		return nil, &WebhookError{"not_json"}
	}
	return event, nil
}
