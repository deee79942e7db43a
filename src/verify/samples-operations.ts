import { hexOf, iso, unix, type SampleEvent, type Samples } from "./sample-event.ts"

const alert = (event: SampleEvent): object => ({
  status: "firing",
  labels: { alertname: "SampleAlert", instance: `host-${event.number}.example.com`, severity: "warning" },
  annotations: { summary: `Sample alert ${event.number}` },
  startsAt: iso(event),
  endsAt: "0001-01-01T00:00:00Z",
  generatorURL: "https://prometheus.example.com/graph",
  fingerprint: hexOf(event, 16),
})

const standard = {
  body: (event: SampleEvent) => ({
    type: "sample.created",
    timestamp: iso(event),
    data: { id: event.id, number: event.number },
  }),
}

/** Of alerts, clouds and Standard Webhooks. */
export const OPERATIONS: Samples = {
  "standard-webhooks": standard,
  svix: standard,
  alertmanager: {
    body: (event) => ({
      version: "4",
      groupKey: '{}:{alertname="SampleAlert"}',
      truncatedAlerts: 0,
      status: "firing",
      receiver: "hookline",
      groupLabels: { alertname: "SampleAlert" },
      commonLabels: { alertname: "SampleAlert", severity: "warning" },
      commonAnnotations: {},
      externalURL: "https://alertmanager.example.com",
      alerts: [alert(event)],
    }),
  },
  grafana: {
    body: (event) => ({
      receiver: "hookline",
      status: "firing",
      orgId: 1,
      alerts: [{ ...alert(event), values: { A: event.number }, orgId: 1 }],
      groupLabels: {},
      commonLabels: { alertname: "SampleAlert" },
      commonAnnotations: {},
      externalURL: "https://grafana.example.com/",
      version: "1",
      groupKey: "{}:{}",
      truncatedAlerts: 0,
      title: `[FIRING:1] SampleAlert ${event.number}`,
      state: "alerting",
      message: `Sample alert ${event.number}`,
    }),
  },
  pagerduty: {
    headers: ({ id }) => ({ "X-Webhook-Id": id }),
    body: (event) => ({
      event: {
        id: event.id,
        event_type: "incident.triggered",
        resource_type: "incident",
        occurred_at: iso(event),
        agent: null,
        client: null,
        data: {
          id: `Q${hexOf(event, 13).toUpperCase()}`,
          type: "incident",
          number: event.number,
          title: `Sample incident ${event.number}`,
          status: "triggered",
          urgency: "high",
        },
      },
    }),
  },
  opsgenie: {
    body: (event) => ({
      action: "Create",
      alert: {
        alertId: event.id,
        message: `Sample alert ${event.number}`,
        tinyId: String(event.number),
        createdAt: event.atMs,
        priority: "P3",
      },
      integrationName: "sample",
    }),
  },
  okta: {
    body: (event) => ({
      eventId: event.id,
      eventTime: iso(event),
      eventType: "com.okta.event_hook",
      eventTypeVersion: "1.0",
      data: { events: [{ uuid: event.id, eventType: "user.session.start", published: iso(event) }] },
    }),
  },
  "ms-graph": {
    body: (event) => ({
      value: [
        {
          subscriptionId: "00000000-0000-4000-8000-000000000001",
          changeType: "created",
          resource: `users/sample/messages/${event.number}`,
          resourceData: { id: event.id },
        },
      ],
    }),
  },
  "gcp-pubsub": {
    body: (event) => ({
      message: {
        data: Buffer.from(JSON.stringify({ number: event.number })).toString("base64"),
        messageId: String(event.number),
        publishTime: iso(event),
        attributes: { sample: event.id },
      },
      subscription: "projects/sample/subscriptions/hookline",
    }),
  },
  "azure-eventgrid": {
    headers: () => ({ "aeg-event-type": "Notification" }),
    // of the CloudEvents schema: lists, as the Event Grid schema sends them, are refused
    body: (event) => ({
      specversion: "1.0",
      id: event.id,
      type: "Sample.Created",
      source: "/samples",
      subject: `/samples/${event.number}`,
      time: iso(event),
      data: { number: event.number },
    }),
  },
  plaid: {
    body: (event) => ({
      webhook_type: "TRANSACTIONS",
      webhook_code: "SYNC_UPDATES_AVAILABLE",
      item_id: hexOf(event, 37),
      environment: "sandbox",
      created: unix(event),
    }),
  },
}
