import { file, headerName, list, oneOf, text } from "../../../config/options/option-types.ts"
import { only } from "../../../config/declarations.ts"
import { HEADER_NAME } from "../../../headers.ts"
import { SECRET_FORMS } from "../../schemes/secrets.ts"
import { SETTINGS } from "../../settings.ts"

const TIME_ITEM = {
  pattern: /^(?:[\w.-]{1,64}|\*)$/,
  form: "the name of an item: letters, digits, _, . and -; or *",
}
const ITEM_NAME = { pattern: /^[\w.-]{1,64}$/, form: "the name of an item: letters, digits, _, . and -" }
const FIXED_HEADER = {
  pattern: new RegExp(String.raw`^${HEADER_NAME}\s*=\s*[^\s\p{Cc}]\P{Cc}*$`, "u"),
  form: "a header's name, =, and its value",
}
const LOCATION = {
  pattern: new RegExp(`^(?:header:${HEADER_NAME}|json:(?:/(?:[^~/]|~[01])*)+)$`),
  form: "header:Name or json:/pointer (RFC 6901)",
}

/** The keys of `[provider:<name>]`. */
export const OPTIONS = {
  title: text({ optional: true, doc: "The provider's name as people write it; default: the section's." }),
  docs: text({
    pattern: /^https?:\/\/\S+$/,
    form: "an http or https URL",
    optional: true,
    doc: "The provider's documentation of its webhooks.",
  }),
  note: text({ optional: true, doc: "Pitfalls, in a sentence, shown by `hookline verify`." }),
  scheme: oneOf(["hmac", "token"], {
    default: "hmac",
    doc: "How requests are authenticated: an HMAC of the body (and more), or a token sent as it is.",
  }),
  header: list(headerName({ doc: "" }), {
    optional: true,
    doc: "The header of the signature or token. Of several, any may have a valid signature; a token is in one.",
  }),
  query: text({
    optional: true,
    excludes: "header",
    doc: "The query parameter of the signature or token, instead of a header.",
  }),
  ...only(
    { scheme: ["token"] },
    {
      member: text({
        optional: true,
        excludes: "header",
        doc: "The top-level member of the JSON body that is the token, instead of a header. It is published with the body.",
      }),
    },
  ),
  prefix: {
    ...SETTINGS.prefix,
    relations: { excludes: "signature_item" },
    doc: 'The prefix of the signature or token, such as `sha256=`, or `"Bearer "` in double quotes, which keep the space.',
  },
  ...only(
    { scheme: ["hmac"] },
    {
      prefix_optional: oneOf(["false", "true"], {
        optional: true,
        needs: "prefix",
        doc: "Whether signatures may lack the prefix; default: false.",
      }),
      separator: oneOf([",", ";", "space"], {
        optional: true,
        doc: "What separates several items in the header; those that start with the prefix, or with `signature_item`, are signatures. Default: `,` with `signature_item`, else the header has one signature.",
      }),
      signature_item: text({
        ...ITEM_NAME,
        optional: true,
        doc: "The name of the signatures among the header's items: `s` for `t=…,s=…`.",
      }),
      timestamp_item: text({
        ...TIME_ITEM,
        optional: true,
        doc: "The name of the signed time among the header's items: `t` for `t=…,s=…`; `*` for the first item, without a name: `…,s=…`.",
      }),
      timestamp_header: headerName({ optional: true, doc: "The header of the signed time." }),
      timestamp_member: text({
        optional: true,
        doc: "The top-level member of the JSON body that has the time.",
      }),
      timestamp_unit: oneOf(["s", "ms", "iso", "any"], {
        optional: true,
        doc: "Seconds or milliseconds since 1970, or RFC 3339; default: any of them.",
      }),
      tolerance: {
        ...SETTINGS.tolerance,
        doc: "How far the signed time may be off, either way; 0: unchecked. Default: 5m. A Verifier's own takes precedence.",
      },
      id_header: headerName({ optional: true, doc: "The header of the signed id." }),
      payload: text({
        optional: true,
        doc: "The signed text, with the placeholders `{timestamp}`, `{id}`, `{method}`, `{url}` and `{body}`; default: `{body}`.",
      }),
      algorithm: SETTINGS.algorithm,
      encoding: SETTINGS.encoding,
      fixed_headers: list(text({ ...FIXED_HEADER, doc: "" }), {
        optional: true,
        doc: "Headers that must have these values, each as `Name=value`: a supported version.",
      }),
      secret_encoding: oneOf(["text", "hex", "base64", "whsec"], {
        optional: true,
        doc: `How the provider spells secrets; \`whsec\`: ${SECRET_FORMS.whsec}. Default: text.`,
      }),
    },
  ),
  format: oneOf(["json", "form", "multipart", "text", "auto"], {
    optional: true,
    doc: "What its bodies are: the default of a Decoder in its pipelines, which then needs no section; so are the following three. Default: JSON objects, without a Decoder.",
  }),
  unwrap: text({
    form: "the name of a field",
    optional: true,
    doc: "The field of a form whose JSON is the event.",
  }),
  json_fields: list(text({ form: "the name of a field", doc: "" }), {
    optional: true,
    doc: "Fields of a form whose values are JSON.",
  }),
  lists: oneOf(["refuse", "wrap", "split"], {
    optional: true,
    doc: "What becomes of a JSON list: refused, one event, or an event for each item.",
  }),
  event_id: text({
    ...LOCATION,
    optional: true,
    doc: "Where events have their id, equal for redeliveries: `event:id`.",
  }),
  event_type: text({ ...LOCATION, optional: true, doc: "Where events have their type: `event:type`." }),
  event_time: text({
    ...LOCATION,
    optional: true,
    doc: "Where events have the time when they happened: `event:time`.",
  }),
  event_source: text({
    ...LOCATION,
    optional: true,
    doc: "Where events have the account, shop or repository in which they happened: `event:source`.",
  }),
  sample: text({
    optional: true,
    doc: "A sample event for `hookline send`, as JSON; with `format = form` an object, sent as a form. In its texts `{id}`, `{number}`, `{iso}`, `{unix}`, `{ms}` are replaced, and `=number`, `=unix`, `=ms` as a whole text by a number.",
  }),
  sample_file: file({ optional: true, excludes: "sample", doc: "The file of the sample." }),
  sample_headers: list(text({ ...FIXED_HEADER, doc: "" }), {
    optional: true,
    doc: "Headers of the sample in addition to those of the signature, each as `Name=value`, with the same placeholders.",
  }),
}

export type Options = typeof OPTIONS
