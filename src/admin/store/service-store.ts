/**
 * The state of the service that outlives a process and refers to no record: what was told and acknowledged. Texts by group
 * and name, few and small, in `service.sqlite` of the service's folder or, for all replicas, in the Redis of `[service]`.
 */
export interface ServiceStore {
  /** True if all replicas read and write the same. */
  readonly isShared: boolean
  /** The texts of a group by name. @throws HooklineError `unavailable`, `log_locked`, `log_io` */
  read(group: string): Promise<ReadonlyMap<string, string>>
  /** Durably sets a text; undefined removes it. @throws as `read` */
  write(group: string, name: string, text: string | undefined): Promise<void>
  /**
   * Becomes the one process that does something, of all that use the store.
   *
   * @returns a signal that aborts once another process may do it; undefined: another one does
   * @throws as `read`
   */
  hold(name: string): Promise<AbortSignal | undefined>
  /** Lets another process do it. */
  release(name: string): Promise<void>
  close(): Promise<void>
}
