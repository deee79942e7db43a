/** Adds what a database knows of an event's customer: `[pipeline:<id>:Lookup]`. */
import { Database } from "bun:sqlite"
import { defineComponent, option, Rejected } from "hookline"

export const lookup = defineComponent({
  kind: "processor",
  name: "Lookup",
  summary: "Adds the plan of an event's customer, and refuses customers who are not known.",
  options: { database: option.path({ doc: "A SQLite file with a table customers (id, plan)." }) },
  create: ({ database }, { acquire, log }) => {
    // closed when no pipeline has it any more, after the events in flight
    const file = acquire({
      name: "customers",
      config: database,
      open: () => new Database(database, { readonly: true }),
      close: (it) => it.close(),
    })
    const find = file.query<{ plan: string }, [string]>("SELECT plan FROM customers WHERE id = ?")
    return (event) => {
      const body = event.json<{ customer?: unknown }>()
      const found = find.get(String(body.customer))
      if (found === null) {
        log.info({ request_id: event.request.id }, "customer not found")
        return new Rejected(422, "unknown_customer", "There is no such customer.")
      }
      event.body = JSON.stringify({ ...body, plan: found.plan })
      return event
    }
  },
})
