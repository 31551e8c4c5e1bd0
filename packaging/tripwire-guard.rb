# The Homebrew formula; `cargo xtask dist` fills in version, target and checksum of the binary that it built.
class TripwireGuard < Formula
  desc "Deterministic safety runtime for LLM agents"
  homepage "https://example.invalid/tripwire"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_linux do
    on_intel do
      # @TARGET@
      url "https://example.invalid/tripwire/releases/@VERSION@/tripwire", using: :nounzip
      sha256 "@SHA256@"
    end
  end

  def install
    bin.install "tripwire"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/tripwire --version")
  end
end
