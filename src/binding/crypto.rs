//! `crypto::`: hashes, signatures, random values, encodings of bytes, passwords.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use rhai::{Blob, Dynamic, FuncRegistration, INT, Module, NativeCallContext};
use sha2::{Digest, Sha256, Sha512};
use subtle::ConstantTimeEq;
use uuid::Uuid;

use super::{Binding, Function, bytes};
use crate::fiber::{self, Stop};
use crate::script::{Result, Wrong, raise};

mod encoding;
mod password;

/// Most random bytes that one call gives.
const MOST_RANDOM: INT = 65_536;

pub(super) const BINDING: Binding = Binding {
    name: "crypto",
    summary: "hashes, signatures, random values, encodings and passwords. Data is a string or a blob; hashes are hexadecimal \
              text, or as `form` says: `hex`, `base64`, `base64url`, or `raw` for a blob",
    functions: &[
        Function {
            signature: "sha256(data[, form])",
            summary: "the SHA-256 hash",
            example: "crypto::sha256(\"abc\") → \"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"",
        },
        Function {
            signature: "sha512(data[, form])",
            summary: "the SHA-512 hash",
            example: "crypto::sha512(\"abc\", \"raw\").len() → 64",
        },
        Function {
            signature: "hmac_sha256(key, data[, form])",
            summary: "the HMAC with SHA-256, by which services sign what they send",
            example: "crypto::hmac_sha256(\"Jefe\", \"what do ya want for nothing?\") → \"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843\"",
        },
        Function {
            signature: "hmac_sha512(key, data[, form])",
            summary: "the HMAC with SHA-512",
            example: "crypto::hmac_sha512(\"key\", \"data\", \"base64\").len() → 88",
        },
        Function {
            signature: "equal(a, b)",
            summary: "whether both are the same, in a time that does not tell where they differ: for signatures and tokens",
            example: "[crypto::equal(\"abc\", \"abc\"), crypto::equal(\"abc\", \"abd\")] → [true,false]",
        },
        Function {
            signature: "token([bytes])",
            summary: "a random text for URLs, of 32 bytes or of 1 to 65,536: a session, a key, a link",
            example: "crypto::token().len() → 43",
        },
        Function {
            signature: "random_bytes(count)",
            summary: "a blob of up to 65,536 random bytes from the operating system",
            example: "crypto::random_bytes(16).len() → 16",
        },
        Function { signature: "uuid_v4()", summary: "a random UUID", example: "crypto::uuid_v4().len() → 36" },
        Function {
            signature: "uuid_v7()",
            summary: "a UUID that begins with the time: later ones sort after earlier ones",
            example: "crypto::uuid_v7() < crypto::uuid_v7() → true",
        },
        Function {
            signature: "base64_encode(data)",
            summary: "base64 (RFC 4648 §4)",
            example: "crypto::base64_encode(\"hi?>\") → \"aGk/Pg==\"",
        },
        Function {
            signature: "base64_decode(text)",
            summary: "the bytes of base64, with padding or without, as a blob",
            example: "crypto::base64_decode(\"aGk/Pg==\").as_string() → \"hi?>\"",
        },
        Function {
            signature: "base64url_encode(data)",
            summary: "base64 for URLs (RFC 4648 §5), without padding",
            example: "crypto::base64url_encode(\"hi?>\") → \"aGk_Pg\"",
        },
        Function {
            signature: "base64url_decode(text)",
            summary: "the bytes of base64 for URLs, with padding or without, as a blob",
            example: "crypto::base64url_decode(\"aGk_Pg\").as_string() → \"hi?>\"",
        },
        Function {
            signature: "hex_encode(data)",
            summary: "hexadecimal digits, in lower case",
            example: "crypto::hex_encode(\"hi\") → \"6869\"",
        },
        Function {
            signature: "hex_decode(text)",
            summary: "the bytes of hexadecimal digits in either case, as a blob",
            example: "crypto::hex_decode(\"4A6f\").as_string() → \"Jo\"",
        },
        Function {
            signature: "hash_password(password[, algorithm])",
            summary: "a text to keep in the place of a password: argon2id (19 MiB, 2 passes, as OWASP has it), or `bcrypt` with \
                      cost 12, which takes 72 bytes at most. Takes some 20 to 300 ms, in which others are served",
            example: "crypto::hash_password(\"secret\").starts_with(\"$argon2id$v=19$m=19456,t=2,p=1$\") → true",
        },
        Function {
            signature: "verify_password(password, hash)",
            summary: "whether the password is the one that was hashed, by argon2 or bcrypt; takes as long as hashing it",
            example: "crypto::verify_password(\"secret\", \"$2y$05$/OK.fbVrR/bpIqNJ5ianF.Sa7shbm4.OzKpvFnX1pQLmQW96oUlCq\") → false",
        },
    ],
    register,
};

fn register(module: &mut Module) {
    hashes(module);
    random(module);
    encoding::register(module);
    password::register(module);
    FuncRegistration::new("equal").set_into_module(module, |call: NativeCallContext, a: Dynamic, b: Dynamic| {
        let same = bytes::of(&call, &a, |a| bytes::of(&call, &b, |b| equal(a, b)))??;
        same.map_err(|stop| Wrong::from(stop).raise(&call))
    });
}

fn hashes(module: &mut Module) {
    type Hash = fn(&[u8]) -> std::result::Result<Blob, Stop>;
    let hashes: [(&str, Hash); 2] = [("sha256", hash::<Sha256>), ("sha512", hash::<Sha512>)];
    for (name, hash) in hashes {
        let make = move |call: &NativeCallContext, data: &Dynamic, form: &str| {
            let hash = bytes::of(call, data, hash)?.map_err(|stop| Wrong::from(stop).raise(call))?;
            encoding::formed(call, hash, form)
        };
        FuncRegistration::new(name)
            .set_into_module(module, move |call: NativeCallContext, data: Dynamic| make(&call, &data, "hex"));
        FuncRegistration::new(name)
            .set_into_module(module, move |call: NativeCallContext, data: Dynamic, form: &str| {
                make(&call, &data, form)
            });
    }
    type Sign = fn(&[u8], &[u8]) -> std::result::Result<Blob, Stop>;
    let signatures: [(&str, Sign); 2] =
        [("hmac_sha256", signature::<Hmac<Sha256>>), ("hmac_sha512", signature::<Hmac<Sha512>>)];
    for (name, sign) in signatures {
        let make = move |call: &NativeCallContext, key: &Dynamic, data: &Dynamic, form: &str| {
            let signature = bytes::of(call, key, |key| bytes::of(call, data, |data| sign(key, data)))??;
            let signature = signature.map_err(|stop| Wrong::from(stop).raise(call))?;
            encoding::formed(call, signature, form)
        };
        FuncRegistration::new(name)
            .set_into_module(module, move |call: NativeCallContext, key: Dynamic, data: Dynamic| {
                make(&call, &key, &data, "hex")
            });
        FuncRegistration::new(name)
            .set_into_module(module, move |call: NativeCallContext, key: Dynamic, data: Dynamic, form: &str| {
                make(&call, &key, &data, form)
            });
    }
}

/// Bytes that are worked on before others get their turn: less than a millisecond. Three go into it, for base64.
const PIECE: usize = 192 << 10;

fn hash<D: Digest>(data: &[u8]) -> std::result::Result<Blob, Stop> {
    let mut hash = D::new();
    for piece in data.chunks(PIECE) {
        hash.update(piece);
        turn(piece)?;
    }
    Ok(hash.finalize().to_vec())
}

fn signature<M: Mac + KeyInit>(key: &[u8], data: &[u8]) -> std::result::Result<Blob, Stop> {
    let mut mac = <M as KeyInit>::new_from_slice(key).expect("an HMAC takes keys of any length");
    for piece in data.chunks(PIECE) {
        mac.update(piece);
        turn(piece)?;
    }
    Ok(mac.finalize().into_bytes().to_vec())
}

fn equal(a: &[u8], b: &[u8]) -> std::result::Result<bool, Stop> {
    let mut same = a.len().ct_eq(&b.len());
    for (a, b) in a.chunks(PIECE).zip(b.chunks(PIECE)) {
        same &= a.ct_eq(b);
        turn(a)?;
    }
    Ok(same.into())
}

/// Others have their turn after a whole piece: most data is shorter.
fn turn(piece: &[u8]) -> std::result::Result<(), Stop> {
    if piece.len() < PIECE { Ok(()) } else { fiber::slice() }
}

fn random(module: &mut Module) {
    FuncRegistration::new("random_bytes")
        .set_into_module(module, |call: NativeCallContext, count: INT| random_bytes(&call, count));
    FuncRegistration::new("token").set_into_module(module, |call: NativeCallContext| token(&call, 32));
    FuncRegistration::new("token").set_into_module(module, |call: NativeCallContext, bytes: INT| token(&call, bytes));
    FuncRegistration::new("uuid_v4").set_into_module(module, || Uuid::new_v4().to_string());
    FuncRegistration::new("uuid_v7").set_into_module(module, || Uuid::now_v7().to_string());
}

fn token(call: &NativeCallContext, count: INT) -> Result<String> {
    Ok(BASE64_URL_SAFE_NO_PAD.encode(random_bytes(call, count)?))
}

fn random_bytes(call: &NativeCallContext, count: INT) -> Result<Blob> {
    let length = usize::try_from(count).ok().filter(|_| (1..=MOST_RANDOM).contains(&count));
    let length = length.ok_or_else(|| raise(call, format!("expected 1 to {MOST_RANDOM} bytes, found {count}")))?;
    let mut bytes = vec![0; length];
    getrandom::fill(&mut bytes)
        .map_err(|error| raise(call, format!("the operating system has no random bytes: {error}")))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fiber::Limits;

    /// Whether others have their turn while something is done.
    fn gives_way<T>(work: impl FnOnce() -> T) -> (T, bool) {
        tokio::runtime::LocalRuntime::new().unwrap().block_on(async {
            let mut work = std::pin::pin!(fiber::run(Limits::default(), work));
            let mut turns = 0;
            loop {
                tokio::select! {
                    biased;
                    done = &mut work => return (done.unwrap(), turns > 1),
                    () = tokio::task::yield_now() => turns += 1,
                }
            }
        })
    }

    #[test]
    fn others_have_their_turn_while_much_is_hashed() {
        let much = vec![b'a'; 20 << 20];
        assert_eq!(gives_way(|| hash::<Sha512>(&much)), (Ok(Sha512::digest(&much).to_vec()), true));
        let signed = gives_way(|| signature::<Hmac<Sha512>>(b"key", &much));
        assert!(signed.0.is_ok() && signed.1);
        assert_eq!(gives_way(|| equal(&much, &much)), (Ok(true), true));
    }

    #[test]
    fn pieces_make_no_difference() {
        let one = vec![b'a'; PIECE + 1];
        for (end, is_same) in [(PIECE, false), (PIECE + 1, true)] {
            assert_eq!(equal(&one, &one[..end]), Ok(is_same));
        }
        let mut other = one.clone();
        other[PIECE] = b'b';
        assert_eq!((equal(&one, &other), equal(b"", b"")), (Ok(false), Ok(true)));
        assert_eq!(hash::<Sha256>(&one), Ok(Sha256::digest(&one).to_vec()));
        let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(b"key").unwrap();
        mac.update(&one);
        assert_eq!(signature::<Hmac<Sha256>>(b"key", &one), Ok(mac.finalize().into_bytes().to_vec()));
    }
}
