//! Checkpoints as signed notes: three lines of text and a signature, in the form of C2SP tlog-checkpoint and signed-note.
//!
//! ```text
//! tripwire/journal/SESSION
//! 200
//! CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
//!
//! — tripwire-journal Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5…
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use tripwire_core::record::chain::Digest;

/// What a checkpoint says: the first `size` records of this journal have this root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which journal.
    pub origin: String,
    /// How many records.
    pub size: u64,
    /// The RFC 6962 root over their lines.
    pub root: Digest,
}

impl Checkpoint {
    fn text(&self) -> String {
        let root = STANDARD.encode(self.root.as_bytes());
        format!("{}\n{}\n{root}\n", self.origin, self.size)
    }

    /// Signs, giving the whole note.
    #[must_use]
    pub fn sign(&self, signer: &Signer) -> String {
        signer.seal(&self.text())
    }
}

/// A note that was read back; whose signature it carries is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedCheckpoint {
    checkpoint: Checkpoint,
    text: String,
    signatures: Vec<NoteSignature>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct NoteSignature {
    name: String,
    id: [u8; ID_BYTES],
    signature: [u8; 64],
}

impl SignedCheckpoint {
    /// Reads a note; anything that is not exactly of the form is `None`.
    #[must_use]
    pub fn parse(note: &str) -> Option<Self> {
        let (text, signatures) = note.split_once("\n\n")?;
        let mut lines = text.split('\n');
        let origin = lines.next().filter(|line| !line.is_empty())?;
        let size_text = lines.next()?;
        let root = STANDARD.decode(lines.next()?).ok()?;
        let size: u64 = size_text.parse().ok()?;
        if lines.next().is_some() || size.to_string() != size_text {
            return None;
        }
        let checkpoint =
            Checkpoint { origin: origin.to_owned(), size, root: Digest::from_bytes(root.try_into().ok()?) };
        let signatures = signatures.strip_suffix('\n')?.split('\n').map(parse_signature).collect::<Option<Vec<_>>>()?;
        Some(Self { checkpoint, text: format!("{text}\n"), signatures })
    }

    /// What the note says, without a check of its signature.
    #[must_use]
    pub const fn unverified(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// What the note says, if this key said it.
    #[must_use]
    pub fn verified_by(&self, verifier: &Verifier) -> Option<&Checkpoint> {
        self.signatures.iter().any(|found| found.is_of(verifier, &self.text)).then_some(&self.checkpoint)
    }

    /// Whether a signature line names this key, be its signature right or not.
    pub(crate) fn names(&self, verifier: &Verifier) -> bool {
        self.signatures.iter().any(|found| found.name == verifier.name && found.id == verifier.id())
    }

    /// The keys that the signature lines name, each as the beginning of its verifier key: `NAME+ID`.
    pub(crate) fn key_names(&self) -> impl Iterator<Item = String> {
        self.signatures.iter().map(|found| format!("{}+{}", found.name, hex(found.id)))
    }

    /// The whole note with one more signature: those that it has stay.
    pub(crate) fn cosigned(&self, note: &str, signer: &Signer) -> String {
        format!("{note}{}", signer.signature_line(&self.text))
    }
}

/// A key that signs checkpoints.
#[derive(Clone)]
pub struct Signer {
    name: String,
    key: SigningKey,
}

impl std::fmt::Debug for Signer {
    /// The secret stays secret in logs.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Signer({})", self.verifier())
    }
}

impl Signer {
    /// A key from its 32 secret bytes.
    #[must_use]
    pub fn from_seed(name: &str, seed: &[u8; 32]) -> Self {
        Self { name: name.to_owned(), key: SigningKey::from_bytes(seed) }
    }

    /// A text of whole lines with this key's signature behind it.
    #[must_use]
    pub fn seal(&self, text: &str) -> String {
        format!("{text}\n{}", self.signature_line(text))
    }

    fn signature_line(&self, text: &str) -> String {
        let mut blob = self.verifier().id().to_vec();
        blob.extend(self.key.sign(text.as_bytes()).to_bytes());
        format!("{DASH} {} {}\n", self.name, STANDARD.encode(blob))
    }

    /// The public half.
    #[must_use]
    pub fn verifier(&self) -> Verifier {
        Verifier { name: self.name.clone(), key: self.key.verifying_key() }
    }

    /// The text of the secret key file, in the form that other note tools read.
    #[must_use]
    pub fn to_secret_text(&self) -> String {
        let mut key = vec![ALGORITHM];
        key.extend(self.key.to_bytes());
        format!("PRIVATE+KEY+{}+{}+{}", self.name, hex(self.verifier().id()), STANDARD.encode(key))
    }

    /// Reads what [`Self::to_secret_text`] wrote.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let SecretParts { name, id, seed } = SecretParts::of(text)?;
        let signer = Self::from_seed(name, &seed);
        (hex(signer.verifier().id()) == id).then_some(signer)
    }

    /// Whether a text has the form of what [`Self::to_secret_text`] wrote; whether its id is the key's own is not computed.
    pub(crate) fn is_secret_text(text: &str) -> bool {
        SecretParts::of(text).is_some()
    }
}

/// The parts of a secret key's text.
struct SecretParts<'a> {
    name: &'a str,
    id: &'a str,
    seed: [u8; 32],
}

impl<'a> SecretParts<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let mut parts = text.trim_end().strip_prefix("PRIVATE+KEY+")?.splitn(3, '+');
        let (name, id) = (parts.next()?, parts.next()?);
        let key = STANDARD.decode(parts.next()?).ok()?;
        let (algorithm, seed) = key.split_first()?;
        (*algorithm == ALGORITHM).then_some(Self { name, id, seed: seed.try_into().ok()? })
    }
}

/// A key that checks checkpoints; its text is what other note tools call a verifier key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verifier {
    name: String,
    key: VerifyingKey,
}

impl std::fmt::Display for Verifier {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut key = vec![ALGORITHM];
        key.extend(self.key.to_bytes());
        write!(formatter, "{}+{}+{}", self.name, hex(self.id()), STANDARD.encode(key))
    }
}

impl Verifier {
    /// Reads a verifier key.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim_end().splitn(3, '+');
        let (name, id) = (parts.next()?, parts.next()?);
        let key = STANDARD.decode(parts.next()?).ok()?;
        let (algorithm, key) = key.split_first()?;
        let verifier = Self { name: name.to_owned(), key: VerifyingKey::from_bytes(key.try_into().ok()?).ok()? };
        (*algorithm == ALGORITHM && hex(verifier.id()) == id).then_some(verifier)
    }

    /// The short hash of name and key that a signature line begins with.
    fn id(&self) -> [u8; ID_BYTES] {
        let mut preimage = format!("{}\n", self.name).into_bytes();
        preimage.push(ALGORITHM);
        preimage.extend(self.key.to_bytes());
        let digest = Digest::of(&preimage);
        let mut id = [0; ID_BYTES];
        for (byte, hashed) in id.iter_mut().zip(digest.as_bytes()) {
            *byte = *hashed;
        }
        id
    }
}

/// The text of a sealed note, if one of these keys sealed it.
#[must_use]
pub fn opened<'a>(note: &'a str, verifiers: &[Verifier]) -> Option<&'a str> {
    let end = note.rfind("\n\n")?;
    let (text, signatures) = (note.get(..=end)?, note.get(end + 2..)?);
    let signatures = signatures.strip_suffix('\n')?.split('\n').map(parse_signature).collect::<Option<Vec<_>>>()?;
    let vouches = |verifier: &Verifier| signatures.iter().any(|found| found.is_of(verifier, text));
    verifiers.iter().any(vouches).then_some(text)
}

impl NoteSignature {
    /// Whether this is the verifier's signature of the text.
    fn is_of(&self, verifier: &Verifier, text: &str) -> bool {
        let signature = Signature::from_bytes(&self.signature);
        self.name == verifier.name
            && self.id == verifier.id()
            && verifier.key.verify_strict(text.as_bytes(), &signature).is_ok()
    }
}

fn parse_signature(line: &str) -> Option<NoteSignature> {
    let (name, blob) = line.strip_prefix(DASH)?.strip_prefix(' ')?.split_once(' ')?;
    let blob = STANDARD.decode(blob).ok()?;
    let (id, signature) = blob.split_at_checked(ID_BYTES)?;
    Some(NoteSignature { name: name.to_owned(), id: id.try_into().ok()?, signature: signature.try_into().ok()? })
}

fn hex(id: [u8; ID_BYTES]) -> String {
    format!("{:08x}", u32::from_be_bytes(id))
}

/// An em dash begins a signature line.
const DASH: char = '\u{2014}';

/// Ed25519 in the signed-note form.
const ALGORITHM: u8 = 1;
const ID_BYTES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn signer() -> Signer {
        Signer::from_seed("tripwire-journal", &[7; 32])
    }

    fn checkpoint() -> Checkpoint {
        Checkpoint { origin: "tripwire/journal/s".into(), size: 200, root: Digest::of(b"root") }
    }

    #[test]
    fn a_note_reads_back_and_verifies_with_its_key_only() {
        let note = checkpoint().sign(&signer());
        let read = SignedCheckpoint::parse(&note).unwrap();
        assert_eq!(read.verified_by(&signer().verifier()), Some(&checkpoint()));
        let other = Signer::from_seed("tripwire-journal", &[8; 32]);
        assert_eq!(read.verified_by(&other.verifier()), None);
        let renamed = Signer::from_seed("another-name", &[7; 32]);
        assert_eq!(read.verified_by(&renamed.verifier()), None);
    }

    #[test]
    fn what_is_signed_and_not_exactly_of_the_form_is_no_checkpoint() {
        let good = checkpoint().text();
        assert!(SignedCheckpoint::parse(&signer().seal(&good)).is_some());
        for text in [
            format!("{good}a fourth line\n"),
            good.replace("200", "0200"),
            good.replace("200", "+200"),
            good.replace("200", "many"),
            good.replace("tripwire/journal/s", ""),
            good.replace("=\n", "\n"),
            checkpoint().origin,
        ] {
            assert_eq!(SignedCheckpoint::parse(&signer().seal(&text)), None, "{text}");
        }
    }

    #[test]
    fn every_flipped_byte_of_a_note_is_found() {
        let note = checkpoint().sign(&signer()).into_bytes();
        for position in 0..note.len() {
            let mut flipped = note.clone();
            flipped[position] ^= 1;
            let verified = String::from_utf8(flipped)
                .ok()
                .and_then(|text| SignedCheckpoint::parse(&text))
                .is_some_and(|read| read.verified_by(&signer().verifier()).is_some());
            assert!(!verified, "byte {position}");
        }
    }

    #[test]
    fn a_sealed_text_opens_as_it_was_for_who_trusts_the_key_and_only_whole() {
        let (own, other) = (signer(), Signer::from_seed("tripwire-journal", &[8; 32]));
        let text = "an order\n\nin two parts\n";
        let sealed = own.seal(text);
        let trusted = [other.verifier(), own.verifier()];
        assert_eq!(opened(&sealed, &trusted), Some(text));
        assert_eq!(opened(&sealed, &trusted[..1]), None, "another key");
        assert_eq!(opened(&sealed, &[]), None);
        assert_eq!(opened(text, &trusted), None, "no signature");
        assert_eq!(opened(&sealed.replace("two", "ten"), &trusted), None, "another text");
        assert_eq!(opened(&format!("{sealed}more\n"), &trusted), None, "text behind the signature");
        let both = format!("{sealed}{}", other.signature_line(text));
        assert_eq!(opened(&both, &trusted[..1]), Some(text), "one of two signatures is enough");
    }

    #[test]
    fn keys_have_a_text_form_that_reads_back() {
        let signer = signer();
        let secret = signer.to_secret_text();
        assert_eq!(Signer::parse(&secret).unwrap().verifier(), signer.verifier());
        let public = signer.verifier().to_string();
        assert_eq!(Verifier::parse(&public), Some(signer.verifier()));
        assert!(Signer::parse(&secret.replace("journal", "jornal")).is_none());
        assert!(Verifier::parse("a+b").is_none());
        assert!(!format!("{signer:?}").contains(&secret));
    }

    #[test]
    fn a_second_signature_leaves_the_first_one_valid() {
        let note = checkpoint().sign(&signer());
        let other = Signer::from_seed("tripwire-journal", &[8; 32]);
        let both = SignedCheckpoint::parse(&note).unwrap().cosigned(&note, &other);
        let read = SignedCheckpoint::parse(&both).unwrap();
        for key in [signer().verifier(), other.verifier()] {
            assert_eq!(read.verified_by(&key), Some(&checkpoint()));
            assert!(read.names(&key) && read.key_names().any(|name| key.to_string().starts_with(&name)));
        }
        assert!(!read.names(&Signer::from_seed("tripwire-journal", &[9; 32]).verifier()));
    }

    /// The key id is SHA-256(name, line feed, algorithm, key) cut to four bytes; computed here by another way.
    #[test]
    fn the_key_id_follows_the_signed_note_form() {
        let verifier = signer().verifier();
        let text = verifier.to_string();
        let encoded = text.rsplit('+').next().unwrap();
        let mut preimage = b"tripwire-journal\n".to_vec();
        preimage.extend(STANDARD.decode(encoded).unwrap());
        let expected = Digest::of(&preimage).to_string();
        assert!(text.contains(&format!("+{}+", &expected[..8])));
    }
}
