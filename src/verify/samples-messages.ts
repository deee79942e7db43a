import { hexOf, iso, unix, type Samples } from "./sample-event.ts"

/** Of chats, calls, mails and meetings. */
export const MESSAGES: Samples = {
  slack: {
    body: (event) => ({
      type: "event_callback",
      team_id: "T00SAMPLE",
      api_app_id: "A00SAMPLE",
      event_id: `Ev${hexOf(event, 12).toUpperCase()}`,
      event_time: unix(event),
      event: {
        type: "message",
        channel: "C00SAMPLE",
        user: "U00SAMPLE",
        text: `Sample message ${event.number}`,
        ts: `${unix(event)}.${String(event.number % 1_000_000).padStart(6, "0")}`,
      },
    }),
  },
  discord: {
    body: (event) => ({
      version: 1,
      application_id: "100000000000000001",
      type: 1,
      event: {
        type: "APPLICATION_AUTHORIZED",
        timestamp: iso(event),
        data: { scopes: ["applications.commands"], user: { id: String(event.number), username: "sample" } },
      },
    }),
  },
  twilio: {
    headers: ({ id }) => ({ "I-Twilio-Idempotency-Token": id }),
    body: (event) =>
      new URLSearchParams({
        MessageSid: `SM${hexOf(event, 32)}`,
        AccountSid: `AC${"0".repeat(32)}`,
        From: "+15005550006",
        To: "+15005550001",
        Body: `Sample message ${event.number}`,
        NumMedia: "0",
      }),
  },
  mandrill: {
    body: (event) =>
      new URLSearchParams({
        mandrill_events: JSON.stringify([
          {
            event: "send",
            ts: unix(event),
            _id: hexOf(event, 32),
            msg: { _id: hexOf(event, 32), email: "reader@example.com", subject: `Sample ${event.number}` },
          },
        ]),
      }),
  },
  mailgun: {
    body: (event) => ({
      "event-data": {
        id: event.id,
        event: "delivered",
        timestamp: event.atMs / 1000,
        recipient: "reader@example.com",
        message: { headers: { "message-id": `${event.id}@example.com`, subject: `Sample ${event.number}` } },
      },
    }),
  },
  sendgrid: {
    body: (event) => [
      {
        email: "reader@example.com",
        timestamp: unix(event),
        event: "delivered",
        sg_event_id: hexOf(event, 22),
        sg_message_id: `sample-${event.number}`,
      },
    ],
  },
  postmark: {
    body: (event) => ({
      RecordType: "Delivery",
      MessageID: event.id,
      Recipient: "reader@example.com",
      DeliveredAt: iso(event),
      Tag: `sample-${event.number}`,
    }),
  },
  zoom: {
    body: (event) => ({
      event: "meeting.started",
      event_ts: event.atMs,
      payload: {
        account_id: "sample",
        object: {
          id: String(90000000000 + event.number),
          uuid: event.id,
          topic: `Sample meeting ${event.number}`,
          type: 2,
          start_time: iso(event),
          host_id: "sample",
        },
      },
    }),
  },
  telegram: {
    body: (event) => ({
      update_id: event.number,
      message: {
        message_id: event.number,
        date: unix(event),
        chat: { id: 1, type: "private", first_name: "Sample" },
        from: { id: 1, is_bot: false, first_name: "Sample" },
        text: `Sample message ${event.number}`,
      },
    }),
  },
  line: {
    body: (event) => ({
      destination: `U${"0".repeat(32)}`,
      events: [
        {
          type: "message",
          webhookEventId: event.id,
          timestamp: event.atMs,
          mode: "active",
          source: { type: "user", userId: `U${"0".repeat(32)}` },
          message: { id: String(event.number), type: "text", text: `Sample message ${event.number}` },
        },
      ],
    }),
  },
  meta: {
    body: (event) => ({
      object: "page",
      entry: [
        {
          id: "1",
          time: event.atMs,
          messaging: [
            {
              sender: { id: "1" },
              recipient: { id: "2" },
              timestamp: event.atMs,
              message: { mid: `m_${hexOf(event, 20)}`, text: `Sample message ${event.number}` },
            },
          ],
        },
      ],
    }),
  },
  twitch: {
    headers: () => ({
      "Twitch-Eventsub-Message-Type": "notification",
      "Twitch-Eventsub-Subscription-Type": "channel.follow",
      "Twitch-Eventsub-Subscription-Version": "2",
    }),
    body: (event) => ({
      subscription: { id: event.id, type: "channel.follow", version: "2", status: "enabled" },
      event: {
        user_id: String(event.number),
        user_login: `sample${event.number}`,
        broadcaster_user_id: "1",
        followed_at: iso(event),
      },
    }),
  },
}
