//! The wire format of Protocol Buffers, as far as OTLP needs it: varints, fixed words, and fields with a length.

/// A message being written.
#[derive(Debug, Default)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// An integer, a flag or an enum.
    pub(crate) fn integer(&mut self, field: u32, value: u64) {
        self.tag(field, 0);
        self.varint(value);
    }

    /// Eight bytes, little-endian.
    pub(crate) fn fixed(&mut self, field: u32, value: u64) {
        self.tag(field, 1);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// A floating-point number.
    pub(crate) fn double(&mut self, field: u32, value: f64) {
        self.fixed(field, value.to_bits());
    }

    /// Several words of eight bytes in one field.
    pub(crate) fn packed(&mut self, field: u32, values: impl ExactSizeIterator<Item = u64>) {
        self.tag(field, 2);
        self.varint(8 * values.len() as u64);
        values.for_each(|value| self.0.extend_from_slice(&value.to_le_bytes()));
    }

    /// Bytes or a text; an empty one is left out.
    pub(crate) fn bytes(&mut self, field: u32, value: &[u8]) {
        if !value.is_empty() {
            self.whole(field, value);
        }
    }

    /// A message inside this one.
    pub(crate) fn message(&mut self, field: u32, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        write(&mut inner);
        self.whole(field, &inner.0);
    }

    /// Bytes without a field around them.
    pub(crate) fn raw(&mut self, value: &[u8]) {
        self.0.extend_from_slice(value);
    }

    fn whole(&mut self, field: u32, value: &[u8]) {
        self.tag(field, 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    fn tag(&mut self, field: u32, wire: u8) {
        self.varint(u64::from(field) << 3 | u64::from(wire));
    }

    fn varint(&mut self, value: u64) {
        let mut rest = value;
        loop {
            let low = u8::try_from(rest & 0x7f).unwrap_or(0x7f);
            rest >>= 7;
            if rest == 0 {
                self.0.push(low);
                return;
            }
            self.0.push(low | 0x80);
        }
    }
}
