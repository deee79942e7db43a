import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerExtensionsValidatorCallback;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallback;

/**
 * In place of Amazon MSK's validator: takes tokens that are presigned URLs to connect, in base64url, from their date until they
 * expire. It knows no secret, so it does not verify the signature. The client's name is its access key id.
 */
public class PresignedUrlValidator implements AuthenticateCallbackHandler {
  @Override
  public void configure(Map<String, ?> configs, String mechanism, List<AppConfigurationEntry> entries) {}

  @Override
  public void close() {}

  @Override
  public void handle(Callback[] callbacks) throws UnsupportedCallbackException {
    for (Callback callback : callbacks) {
      if (callback instanceof OAuthBearerValidatorCallback) validate((OAuthBearerValidatorCallback) callback);
      else if (!(callback instanceof OAuthBearerExtensionsValidatorCallback))
        throw new UnsupportedCallbackException(callback);
    }
  }

  private void validate(OAuthBearerValidatorCallback callback) {
    String value = callback.tokenValue();
    try {
      URI url = URI.create(new String(Base64.getUrlDecoder().decode(value), StandardCharsets.UTF_8));
      Map<String, String> query = new HashMap<>();
      for (String pair : url.getRawQuery().split("&")) {
        String[] parts = pair.split("=", 2);
        query.put(parts[0], URLDecoder.decode(parts[1], StandardCharsets.UTF_8));
      }
      DateTimeFormatter form = DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'");
      long start = LocalDateTime.parse(query.get("X-Amz-Date"), form).toInstant(ZoneOffset.UTC).toEpochMilli();
      long end = start + 1000 * Long.parseLong(query.get("X-Amz-Expires"));
      boolean isRight = "kafka-cluster:Connect".equals(query.get("Action"))
        && query.get("X-Amz-Signature").matches("[0-9a-f]{64}")
        && url.getHost().matches("kafka\\..*\\.amazonaws\\.com")
        && end > System.currentTimeMillis();
      if (!isRight) throw new IllegalArgumentException("not a URL to connect, or expired");
      callback.token(new PresignedUrl(value, query.get("X-Amz-Credential").split("/")[0], start, end));
    } catch (RuntimeException wrong) {
      callback.error("invalid_token", null, null);
    }
  }

  private static class PresignedUrl implements OAuthBearerToken {
    private final String value;
    private final String principal;
    private final long start;
    private final long end;

    PresignedUrl(String value, String principal, long start, long end) {
      this.value = value;
      this.principal = principal;
      this.start = start;
      this.end = end;
    }

    @Override
    public String value() {
      return value;
    }

    @Override
    public Set<String> scope() {
      return Set.of();
    }

    @Override
    public long lifetimeMs() {
      return end;
    }

    @Override
    public String principalName() {
      return principal;
    }

    @Override
    public Long startTimeMs() {
      return start;
    }
  }
}
