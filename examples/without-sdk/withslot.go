// withslot runs a command while it holds a slot of a product, without an SDK:
//
//	go build withslot.go
//	./withslot http://127.0.0.1:8080 demo ada@example.com sleep 60
//
// It exits with the code of the command, with 75 if no slot is free, and with 76 if the slot was lost. `go run`
// would turn all of them into 1.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

const (
	noSlot   = 75
	slotLost = 76
	// The server may lend the slot again at its end, so this program stops using it a little earlier.
	margin     = 2 * time.Second
	retryAfter = 5 * time.Second
)

var client = &http.Client{Timeout: 10 * time.Second}

// slot is what the server says about a slot, and what it says when it refuses.
type slot struct {
	EndsIn     int    `json:"slot_ends_in_seconds"`
	RenewIn    int    `json:"renew_in_seconds"`
	LicenseID  int64  `json:"license_id"`
	Code       string `json:"code"`
	Message    string `json:"message"`
	NextFreeAt string `json:"next_free_at"`
}

type holder struct {
	server, product, user string
	licenseID             int64
}

// call sends one request of the API. A refusal is an answer, not an error.
func (h *holder) call(operation string) (slot, error) {
	host, _ := os.Hostname()
	fields := map[string]any{"product": h.product, "user": h.user, "os_hostname": host}
	if h.licenseID != 0 {
		// Stay with the license that has lent the slot.
		fields["license_id"] = h.licenseID
	}
	body, err := json.Marshal(fields)
	if err != nil {
		return slot{}, err
	}
	request, err := http.NewRequest("POST", h.server+"/api/v4/"+operation, bytes.NewReader(body))
	if err != nil {
		return slot{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Prefer", "return=minimal")
	response, err := client.Do(request)
	if err != nil {
		return slot{}, err
	}
	defer response.Body.Close()
	if response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests {
		return slot{}, errors.New(response.Status)
	}
	answer := slot{}
	if operation == "unregister" && response.StatusCode == http.StatusOK {
		return answer, nil
	}
	return answer, json.NewDecoder(response.Body).Decode(&answer)
}

// keep renews the slot in time. It returns when the slot is lost.
func (h *holder) keep(current slot, sentAt time.Time, lost chan<- string) {
	// Counted from when the request was sent: its answer may have taken a while.
	end := sentAt.Add(time.Duration(current.EndsIn) * time.Second)
	wait := time.Duration(current.RenewIn) * time.Second
	for {
		time.Sleep(min(wait, time.Until(end.Add(-margin))))
		if !time.Now().Before(end.Add(-margin)) {
			lost <- "The server has not answered in time."
			return
		}
		sentAt = time.Now()
		renewed, err := h.call("register")
		switch {
		case err != nil:
			wait = retryAfter
		case renewed.Code != "":
			lost <- renewed.Message
			return
		default:
			end = sentAt.Add(time.Duration(renewed.EndsIn) * time.Second)
			wait = time.Duration(renewed.RenewIn) * time.Second
		}
	}
}

func fail(code int, message string) {
	fmt.Fprintln(os.Stderr, "withslot: "+message)
	os.Exit(code)
}

func main() {
	if len(os.Args) < 5 {
		fail(2, "usage: withslot SERVER PRODUCT USER COMMAND [ARGUMENT]...")
	}
	h := &holder{server: os.Args[1], product: os.Args[2], user: os.Args[3]}
	sentAt := time.Now()
	granted, err := h.call("register")
	if err != nil {
		fail(noSlot, "the license server cannot be reached: "+err.Error())
	}
	if granted.Code != "" {
		fail(noSlot, granted.Message)
	}
	h.licenseID = granted.LicenseID
	lost := make(chan string, 1)
	go h.keep(granted, sentAt, lost)

	command := exec.Command(os.Args[4], os.Args[5:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if err := command.Start(); err != nil {
		h.call("unregister")
		fail(127, err.Error())
	}
	done := make(chan error, 1)
	go func() { done <- command.Wait() }()
	for {
		select {
		case received := <-signals:
			command.Process.Signal(received)
		case reason := <-lost:
			command.Process.Kill()
			<-done
			fail(slotLost, "the slot was lost, so the command was ended. "+reason)
		case <-done:
			h.call("unregister")
			os.Exit(command.ProcessState.ExitCode())
		}
	}
}
