/** What Hookline's code has of Bun's worker, where types of the DOM are in its place. */
interface Worker {
  unref(): void
}
