import { hexOf, iso, type SampleEvent, type Samples } from "./sample-event.ts"

const commit = (event: SampleEvent): object => ({
  id: hexOf(event, 40),
  message: `Sample commit ${event.number}`,
  timestamp: iso(event),
  url: `https://git.example.com/example/sample/commit/${hexOf(event, 40)}`,
  author: { name: "Sample Author", email: "author@example.com" },
  added: [],
  modified: ["README.md"],
  removed: [],
})

/** Of code hosts, builds, trackers and error reports. */
export const DEVELOPMENT: Samples = {
  github: {
    headers: ({ id }) => ({
      "X-GitHub-Event": "push",
      "X-GitHub-Delivery": id,
      "User-Agent": "GitHub-Hookshot/sample",
    }),
    body: (event) => ({
      ref: "refs/heads/main",
      before: "0".repeat(40),
      after: hexOf(event, 40),
      repository: { id: 1000001, name: "sample", full_name: "example/sample", private: false },
      pusher: { name: "example", email: "author@example.com" },
      sender: { id: 1000002, login: "example", type: "User" },
      created: false,
      deleted: false,
      forced: false,
      head_commit: commit(event),
      commits: [commit(event)],
    }),
  },
  gitlab: {
    headers: ({ id }) => ({ "X-Gitlab-Event": "Push Hook", "X-Gitlab-Event-UUID": id }),
    body: (event) => ({
      object_kind: "push",
      event_name: "push",
      before: "0".repeat(40),
      after: hexOf(event, 40),
      ref: "refs/heads/main",
      checkout_sha: hexOf(event, 40),
      user_username: "example",
      project_id: 1000001,
      project: { id: 1000001, name: "Sample", path_with_namespace: "example/sample" },
      commits: [commit(event)],
      total_commits_count: 1,
    }),
  },
  bitbucket: {
    headers: ({ id }) => ({ "X-Event-Key": "repo:push", "X-Request-UUID": id }),
    body: (event) => ({
      actor: { type: "user", display_name: "Sample Author" },
      repository: { type: "repository", name: "sample", full_name: "example/sample" },
      push: {
        changes: [
          { new: { type: "branch", name: "main", target: { type: "commit", hash: hexOf(event, 40) } } },
        ],
      },
    }),
  },
  jira: {
    body: ({ number, atMs }) => ({
      timestamp: atMs,
      webhookEvent: "jira:issue_created",
      issue: {
        id: String(10000 + number),
        key: `SAMPLE-${number}`,
        fields: { summary: `Sample issue ${number}`, project: { key: "SAMPLE" } },
      },
    }),
  },
  linear: {
    headers: ({ id }) => ({ "Linear-Delivery": id, "Linear-Event": "Issue" }),
    body: (event) => ({
      action: "create",
      type: "Issue",
      createdAt: iso(event),
      data: {
        id: event.id,
        identifier: `SAM-${event.number}`,
        title: `Sample issue ${event.number}`,
        team: { key: "SAM", name: "Sample" },
      },
      organizationId: "00000000-0000-4000-8000-000000000001",
      webhookId: "00000000-0000-4000-8000-000000000002",
      webhookTimestamp: event.atMs,
    }),
  },
  sentry: {
    headers: ({ id }) => ({ "Sentry-Hook-Resource": "issue", "Request-ID": id }),
    body: (event) => ({
      action: "created",
      actor: { id: "sentry", name: "Sentry", type: "application" },
      data: {
        issue: {
          id: String(1000000 + event.number),
          shortId: `SAMPLE-${event.number}`,
          title: `SampleError: event ${event.number}`,
          level: "error",
          status: "unresolved",
          firstSeen: iso(event),
          project: { id: "1", slug: "sample", platform: "node" },
        },
      },
      installation: { uuid: "00000000-0000-4000-8000-000000000003" },
    }),
  },
  circleci: {
    headers: () => ({ "circleci-event-type": "workflow-completed" }),
    body: (event) => ({
      id: event.id,
      type: "workflow-completed",
      happened_at: iso(event),
      workflow: { id: event.id, name: "sample", status: "success" },
      project: { slug: "github/example/sample", name: "sample" },
    }),
  },
  vercel: {
    body: (event) => ({
      id: event.id,
      type: "deployment.created",
      createdAt: event.atMs,
      payload: { deployment: { id: `dpl_sample${event.number}`, name: "sample" } },
    }),
  },
  asana: {
    body: (event) => ({
      events: [
        {
          action: "added",
          created_at: iso(event),
          resource: { gid: String(1000000 + event.number), resource_type: "task" },
        },
      ],
    }),
  },
  trello: {
    body: (event) => ({
      action: {
        id: hexOf(event, 24),
        type: "createCard",
        date: iso(event),
        data: { card: { name: `Sample card ${event.number}` }, board: { name: "Sample" } },
      },
      model: { name: "Sample" },
    }),
  },
}
