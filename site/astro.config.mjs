import starlight from "@astrojs/starlight"
import { defineConfig, passthroughImageService } from "astro/config"
import sidebar from "./src/sidebar.json" with { type: "json" }

export default defineConfig({
  // only pages of a known address have a sitemap
  site: process.env.SITE_URL,
  image: { service: passthroughImageService() },
  markdown: { smartypants: false },
  integrations: [
    starlight({
      title: "Hookline",
      sidebar,
      pagination: false,
      customCss: ["./src/site.css"],
      expressiveCode: {
        defaultProps: { wrap: true },
        shiki: { langAlias: { caddy: "nginx", conf: "ini", haproxy: "ini" } },
      },
    }),
  ],
})
