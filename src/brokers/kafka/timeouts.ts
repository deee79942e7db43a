/*
 * How long the client waits for brokers, and how often it tries again; all in milliseconds. What a record may take in all
 * is `delivery_timeout`, of the configuration.
 */

/** Timeout of connecting with the TLS handshake, and of the authentication; longer where brokers prove to be slow. */
export const CONNECT_TIMEOUT_MS = { first: 3000, longest: 6000 }
/** Idle time before TCP probes a connection: below the idle limits of NATs and load balancers. */
export const KEEP_ALIVE_MS = 30_000
/** Pause after wrong credentials: accounts may be locked when those come too often. */
export const UNAUTHORIZED_RETRY_MS = 5000
/** Timeout of a request for an access token. */
export const TOKEN_TIMEOUT_MS = 5000
/** Timeout of asking for AWS credentials, which may be asked for at several places. */
export const AWS_CREDENTIALS_TIMEOUT_MS = 10_000
/** Pause from a failure to get a token to the next attempt. */
export const TOKEN_RETRY_MS = { first: 500, longest: 10_000 }
/** The part of its lifetime after which a token is renewed: before connections authenticate again, at 0.8 of a session. */
export const TOKEN_RENEWED_AT = 0.7
/**
 * Of a consumer group's member: its session, after which its partitions are reassigned, the interval of its heartbeats, how often
 * unchanged offsets are committed again, since before Kafka 2.1 they expire after a day, and how often it asks whether it is paused.
 */
export const GROUP_MS = { session: 30_000, heartbeat: 3000, again: 12 * 3_600_000, paused: 2000 }
export const READ_TIMEOUT_MS = 10_000
export const READ_RETRY_MS = 250
/** How long a leader waits for new records before an empty answer. */
export const FETCH_WAIT_MS = 250

/** Timeout of a request for metadata; longer where brokers prove to be slow. */
export const METADATA_TIMEOUT_MS = { first: 2000, longest: 8000 }
/** Time without an answer after which the next broker is asked as well. */
export const METADATA_HEDGE_MS = 500
export const METADATA_RETRY_MS = { first: 100, longest: 500 }
/** Pause between two metadata requests: usually, while a topic can't be published to, while a partition has no leader, at least. */
export const REFRESH_MS = { usual: 1000, unavailable: 500, leaderless: 100, least: 50 }
/** How long metadata older than what is known is ignored: a broker that lags behind has caught up or is gone by then. */
export const STALE_METADATA_MS = 5000
/** How often that is logged. */
export const STALE_METADATA_LOG_MS = 60_000
/** How old max.message.bytes may get, and how soon it is looked up again when it has proved wrong. */
export const MAX_MESSAGE_BYTES_MS = { age: 60_000, retry: 1000 }
/** How long brokers may not know an existing topic: it was just created, or the broker has just started. */
export const UNKNOWN_TOPIC_MS = 700
/** How long the controller may take to create topics, and how long the request and connecting for it may. */
export const CREATE_TIMEOUT_MS = { controller: 5000, request: 15_000 }
export const CREATE_RETRY_MS = { first: 1000, longest: 30_000 }

/** How long the leader waits for its followers before it answers REQUEST_TIMED_OUT; longer where they prove to be slow. */
export const ACKNOWLEDGE_TIMEOUT_MS = { first: 2000, longest: 8000 }
/** Leaders answer within ACKNOWLEDGE_TIMEOUT_MS unless they or the network are gone. */
export const PRODUCE_TIMEOUT_MS = 10_000
/** From this round trip on a leader is slow: more goes with a request, since less often one can be sent. */
export const SLOW_MS = 500
/** How long a request to a former leader may take before its batches go to the new one. */
export const DEPOSED_MS = 500
/**
 * Idle time after which a connection may be dead: without an answer within IDLE_ANSWER_MS, or twice the longest of the last
 * round trips, it is replaced.
 */
export const IDLE_MS = 1000
export const IDLE_ANSWER_MS = 1000
/** The slowest line: a request may take longer by its bytes. */
export const SLOW_BYTES_PER_MS = 500
/** While a request is in flight, the next look at whether the connection is idle. */
export const IDLE_CHECK_MS = 50
export const RECONNECT_MS = { first: 50, longest: 500 }
/** How long a leader may be unreachable, while the cluster answers, before that is logged. */
export const UNREACHABLE_MS = 2000
/** A connection that was closed on a large request longer ago than this was closed by a restart. */
export const CLOSES_REMEMBERED_MS = 10_000

/** Pause before a batch is sent again; `longest` after errors that say nothing about it. */
export const RETRY_MS = { first: 100, longest: 5000 }
/**
 * Deadlines further apart than this, or twice the longest of the last round trips, do not share a batch: after the first of
 * them it is not sent again.
 */
export const DEADLINE_SPREAD_MS = 500

/** An impairment is shown once it has lasted longer than a leader takes to move. */
export const IMPAIRED_MS = 1000
/** How long batches are rejected or lost before their partition fails. */
export const FAILING_MS = 2000
/** How long a failure counts: a failing partition may get no events, and only new ones show whether it still fails. */
export const FAILURE_REMEMBERED_MS = 10_000
