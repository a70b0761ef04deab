//! Hashing of passwords, which takes long on purpose: on threads of its own, a few at a time, while
//! the worker serves others.

use std::sync::{Arc, LazyLock};
use std::thread;

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, Params, PasswordHasher, PasswordVerifier};
use rhai::{FuncRegistration, Module, NativeCallContext};
use tokio::sync::Semaphore;
use tokio::task;

use crate::fiber;
use crate::script::{Result, Wrong, raise};

/// bcrypt's cost of a new hash: some 250 ms, as OWASP asks for at least 10.
const BCRYPT_COST: u32 = 12;
/// What a hash that is to be verified may ask for: it says itself what it costs.
const MOST_MEMORY_KIB: u32 = 256 << 10;
const MOST_PASSES: u32 = 32;
const MOST_BCRYPT_COST: u32 = 16;

/// Passwords that are hashed at a time, over all workers: each takes a core and 19 MiB. Others queue.
static TURNS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    Arc::new(Semaphore::new(cores.min(4)))
});

pub(super) fn register(module: &mut Module) {
    FuncRegistration::new("hash_password")
        .set_into_module(module, |call: NativeCallContext, password: &str| hash(&call, password, "argon2id"));
    FuncRegistration::new("hash_password")
        .set_into_module(module, |call: NativeCallContext, password: &str, algorithm: &str| {
            hash(&call, password, algorithm)
        });
    FuncRegistration::new("verify_password")
        .set_into_module(module, |call: NativeCallContext, password: &str, hash: &str| verify(&call, password, hash));
}

fn hash(call: &NativeCallContext, password: &str, algorithm: &str) -> Result<String> {
    let password = password.to_owned();
    match algorithm {
        "argon2id" => elsewhere(call, move || {
            let mut salt = [0; 16];
            getrandom::fill(&mut salt).map_err(|error| error.to_string())?;
            // The default parameters are those that OWASP recommends.
            let argon2 = Argon2::from(Params::default());
            argon2
                .hash_password_with_salt(password.as_bytes(), &salt)
                .map(|it| it.to_string())
                .map_err(|it| it.to_string())
        }),
        "bcrypt" if password.len() > 72 => {
            Err(raise(call, format!("bcrypt takes passwords of up to 72 bytes, found {}", password.len())))
        }
        "bcrypt" => elsewhere(call, move || bcrypt::hash(password, BCRYPT_COST).map_err(|error| error.to_string())),
        _ => Err(raise(call, format!("the algorithm is `{algorithm}`, expected `argon2id` or `bcrypt`"))),
    }
}

fn verify(call: &NativeCallContext, password: &str, hash: &str) -> Result<bool> {
    let (password, hash) = (password.to_owned(), hash.to_owned());
    if hash.starts_with("$argon2") {
        let unreadable = || raise(call, "the hash begins as argon2's do, but is none".to_owned());
        let parsed = PasswordHash::new(&hash).map_err(|_| unreadable())?;
        let parameters = Params::try_from(&parsed).map_err(|_| unreadable())?;
        if parameters.m_cost() > MOST_MEMORY_KIB || parameters.t_cost() > MOST_PASSES {
            let most = format!("at most m={MOST_MEMORY_KIB} and t={MOST_PASSES} are possible");
            let found = format!("m={} and t={}", parameters.m_cost(), parameters.t_cost());
            return Err(raise(call, format!("the hash asks for {found}, {most}")));
        }
        return elsewhere(call, move || Ok(Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok()));
    }
    let cost = hash.strip_prefix("$2").and_then(|it| it.split('$').nth(1)).and_then(|it| it.parse::<u32>().ok());
    match cost {
        Some(cost) if cost > MOST_BCRYPT_COST => {
            Err(raise(call, format!("the hash asks for cost {cost}, at most {MOST_BCRYPT_COST} is possible")))
        }
        Some(_) => {
            let unreadable = "the hash begins as bcrypt's do, but is none";
            elsewhere(call, move || bcrypt::verify(password, &hash).map_err(|_| unreadable.to_owned()))
        }
        None => Err(raise(call, "the hash is neither argon2's (`$argon2id$…`) nor bcrypt's (`$2b$…`)".to_owned())),
    }
}

/// Does the work on another thread when its turn has come. A script that is stopped meanwhile leaves
/// it behind: it ends by itself, and only then is its turn over.
fn elsewhere<T: Send + 'static>(
    call: &NativeCallContext,
    work: impl FnOnce() -> std::result::Result<T, String> + Send + 'static,
) -> Result<T> {
    let done = fiber::wait(async {
        let turn = TURNS.clone().acquire_owned().await.map_err(|error| error.to_string())?;
        let work = move || {
            let _turn = turn;
            work()
        };
        task::spawn_blocking(work).await.map_err(|error| error.to_string())?
    });
    done.map_err(|stop| Wrong::from(stop).raise(call))?.map_err(|message| raise(call, message))
}
