// A webhook receiver as one writes it by hand: net/http and franz-go. It answers 200 when Kafka has acknowledged with
// acks=all, 4xx when the body is no JSON object or the signature is wrong, 503 when Kafka does not acknowledge.
package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
)

const maxBodyBytes = 1 << 20
const deliveryTimeout = 5 * time.Second

func main() {
	linger, err := time.ParseDuration(or(os.Getenv("LINGER"), "0s"))
	if err != nil {
		log.Fatal(err)
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(os.Getenv("BOOTSTRAP_SERVERS"), ",")...),
		kgo.DefaultProduceTopic(os.Getenv("TOPIC")),
		kgo.RequiredAcks(kgo.AllISRAcks()), // and idempotent, which is the default
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.ProducerLinger(linger),
	)
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{
		Addr:              "127.0.0.1:" + os.Getenv("PORT"),
		Handler:           &receiver{client, []byte(os.Getenv("SECRET"))},
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
	}
	log.Fatal(server.ListenAndServe())
}

type receiver struct {
	client *kgo.Client
	secret []byte // empty: signatures are not asked for
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return
	}
	body, err := read(http.MaxBytesReader(w, req.Body, maxBodyBytes), req.ContentLength)
	if err != nil {
		http.Error(w, "body", http.StatusRequestEntityTooLarge)
		return
	}
	if len(r.secret) > 0 && !signedBy(r.secret, body, req.Header.Get("X-Hub-Signature-256")) {
		http.Error(w, "signature", http.StatusUnauthorized)
		return
	}
	body = bytes.TrimSpace(body)
	if len(body) < 2 || body[0] != '{' || !utf8.Valid(body) || !json.Valid(body) {
		http.Error(w, "not a JSON object", http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(req.Context(), deliveryTimeout)
	defer cancel()
	if err := r.client.ProduceSync(ctx, &kgo.Record{Value: enrich(body)}).FirstErr(); err != nil {
		http.Error(w, "not published", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// Reads a body of a declared length without growing.
func read(body io.Reader, length int64) ([]byte, error) {
	if length < 0 || length > maxBodyBytes {
		return io.ReadAll(body)
	}
	buffer := make([]byte, length, length+96) // what enrich appends fits
	_, err := io.ReadFull(body, buffer)
	return buffer, err
}

func signedBy(secret, body []byte, signature string) bool {
	sent, err := hex.DecodeString(strings.TrimPrefix(signature, "sha256="))
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	return err == nil && hmac.Equal(sent, mac.Sum(nil))
}

// Puts the two members before the closing brace.
func enrich(body []byte) []byte {
	open := bytes.TrimRight(body[:len(body)-1], " \t\r\n")
	if len(open) > 1 {
		open = append(open, ',')
	}
	open = append(open, `"received_at":"`...)
	open = time.Now().AppendFormat(open, "2006-01-02T15:04:05.000Z07:00")
	return append(open, `","source":"webhook"}`...)
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}
